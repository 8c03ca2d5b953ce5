"""The bench: what this machine does with keepstep, each figure beside the limit taken in the same run."""
