"""What a fitted model can tell: importance, neighbors, tuning, strength, stability, selection."""
