"""The grown forest as immutable arrays, and everything that only reads them."""
