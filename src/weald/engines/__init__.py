"""Engines: whoever grows a forest, it is the same. `reference.py` is the definition; `door.py` opens the others."""
