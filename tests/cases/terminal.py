"""A second terminal: several command lines, one after another, in one interpreter, so that starting it is paid once.

    python -m tests.cases.terminal < lines.json

The input is a list of lists of words; the last line of stdout has their exit codes.
"""

import json
import sys

from runtime.cli.app import main

if __name__ == "__main__":
    codes = [main(line) for line in json.load(sys.stdin)]
    print(json.dumps(codes), flush=True)
    sys.exit(max(codes, default=0))
