"""Networks: graphs as networkx knows them, which a notebook draws, whatever was taken out of them or added."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import networkx


class _State:
    """What draws; the notebook's layer sets it."""

    draw: Callable[[Any], str | None]


def drawn_by(draw: Callable[[Any], str | None]) -> None:
    """Have `draw` make the HTML of every network from now on."""
    _State.draw = draw


def new_network(**facts: object) -> networkx.DiGraph[Any]:
    """Return an empty DiGraph that shows itself in a notebook."""
    network: networkx.DiGraph[Any] = _network_class()(**facts)
    return network


@cache
def _network_class() -> Any:
    import networkx  # 0.15 s that only those who look at graphs should pay

    base: Any = networkx.DiGraph

    class Network(base):  # type: ignore[misc]  # copies and subgraphs are networks too
        """A networkx DiGraph of a computation."""

        def _repr_html_(self) -> str | None:
            return _State.draw(self)

        def __repr__(self) -> str:
            return str(self)

    Network.__qualname__ = "Network"
    return Network


def __getattr__(name: str) -> Any:
    """Return the class by its name, for pickles."""
    if name == "Network":
        return _network_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
