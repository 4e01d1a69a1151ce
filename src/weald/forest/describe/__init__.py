"""Trees as tables, text, regions and rules."""
