"""Complete programs on real input; each folder runs by its name, as in `python -m examples.semantic_search`."""
