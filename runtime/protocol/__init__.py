"""The rules: what may happen to a job, what a digest is, what a failure leads to. No I/O; imports nothing of ours."""
