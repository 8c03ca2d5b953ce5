"""The control room: explaining, operating, checking."""
