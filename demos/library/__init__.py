"""A real folder worked through: every file read, its contents extracted and put into a full-text index."""
