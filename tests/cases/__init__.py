"""What goes wrong in queues and durable runtimes, and what this one does: one test for each of the 96 cases."""
