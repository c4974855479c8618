"""The dry backend: plans for devices that are not here; nothing is ever computed."""

from tensorframe.backends.dry.engine import DryBackend

__all__ = ["DryBackend"]
