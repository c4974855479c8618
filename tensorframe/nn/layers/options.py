"""Layers that are a function and its options, which are attributes and nothing else."""

from __future__ import annotations

import inspect

from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.module import Module


class Options(Module):
    """A layer that shows the options that it was made with, where they are not the default ones."""

    def extra_repr(self) -> str:
        """Return the options."""
        parameters = inspect.signature(type(self)).parameters.values()
        given = [
            (parameter.name, vars(self)[parameter.name])
            for parameter in parameters
            if parameter.name in vars(self)
            and vars(self)[parameter.name] is not parameter.default
            and not isinstance(vars(self)[parameter.name], Tensor)
        ]
        return ", ".join([f"{name}={value!r}" for name, value in given if value is not None])
