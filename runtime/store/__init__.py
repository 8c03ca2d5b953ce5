"""The only place that knows a database."""
