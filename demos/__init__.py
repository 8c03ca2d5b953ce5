"""Things to see: each demo runs by itself and is also `python -m runtime demo NAME`."""
