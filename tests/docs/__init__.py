"""The documents: their commands are run, their code is executed, what they say is printed is compared."""
