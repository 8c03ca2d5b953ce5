"""A small tool-using agent as a durable pipeline: plan → tools → a person's approval → report. No network."""
