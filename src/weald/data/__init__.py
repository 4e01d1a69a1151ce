"""Reading any table, and what a fit remembers of it."""
