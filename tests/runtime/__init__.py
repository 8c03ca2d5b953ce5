"""The engine outside the store: host, scheduler, embedding, command line."""
