"""The demos: what they compute and what they promise, without a clock."""
