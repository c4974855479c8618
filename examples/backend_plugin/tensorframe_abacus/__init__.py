"""The device "abacus" for tensorframe, as an example of a backend in a package of its own."""

from tensorframe_abacus.backend import AbacusBackend

__all__ = ["AbacusBackend"]
