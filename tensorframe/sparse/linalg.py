"""The namespace `tfr.sparse.linalg`."""

__all__: list[str] = []
