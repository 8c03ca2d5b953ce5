"""The independent audit, a program of its own: `python -m tests.audit`. It uses public verbs and reads only."""
