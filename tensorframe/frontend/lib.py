"""The namespace `tfr.lib`: what of NumPy's `lib` programs name, which is `stride_tricks.sliding_window_view`."""

from __future__ import annotations

from types import SimpleNamespace

from tensorframe.frontend.manipulation.sliding import sliding_window_view
from tensorframe.frontend.manipulation.views import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
)

stride_tricks = SimpleNamespace(
    broadcast_arrays=broadcast_arrays,
    broadcast_shapes=broadcast_shapes,
    broadcast_to=broadcast_to,
    sliding_window_view=sliding_window_view,
)

__all__ = ["stride_tricks"]
