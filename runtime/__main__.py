"""`python -m runtime`: the command line."""

from runtime.cli.app import main

if __name__ == "__main__":
    raise SystemExit(main())
