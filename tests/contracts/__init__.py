"""The house kept tidy: files, imports, SQL, plans, and what a step costs."""
