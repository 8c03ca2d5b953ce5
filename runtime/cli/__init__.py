"""The command line: a composition root, one file per group of commands. Nothing imports it."""
