"""What a notebook asks of tensors and plans, attached to them; what draws is loaded when something is drawn."""

from __future__ import annotations

__all__: list[str] = []
