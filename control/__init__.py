"""The control room: what an operator does and sees. It knows the store's face; it does not know the workers."""
