"""Semantic search in NumPy's documentation with a sentence encoder written in tensorframe."""
