"""Forms: how the passes over a region become loops, on processors."""
