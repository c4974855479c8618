"""Elements by position or condition: `x[key]`, `take`, `where`, `nonzero`."""
