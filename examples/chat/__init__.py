"""A language model that goes on with what you write: of your own files, or one that learns Python's reference first."""
