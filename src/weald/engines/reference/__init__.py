"""The reference engine: the definition of every result, in plain Python."""
