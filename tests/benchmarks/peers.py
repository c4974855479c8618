"""Contestants: tensorframe, and the libraries that are measured beside it, one row each."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from tests.benchmarks import libraries as by
from tests.benchmarks.goals import OURS, OWN, REFERENCE, UNDER_JIT


@dataclass(frozen=True)
class Peer:
    """A library and a way to use it.

    A new peer is a row in PEERS, and one more name in the workloads that it can do.
    """

    name: str
    package: str  # that has to be there
    distribution: str
    module: str = ""  # with the functions, where that is not the package itself
    needs: str = ""  # a program
    prepare: Callable[[Any], Any] = by.same  # module -> namespace, once
    give: Callable[[Any], Any] = by.same  # NumPy array -> the peer's own
    compiled: Callable[[by.Function], by.Function] = by.same
    finish: Callable[[Any], Any] = by.same  # result -> result, computed
    take: Callable[[Any], Any] = by.same  # the peer's own -> what NumPy can read
    compiles: bool = False  # at the first call
    keeps: bool = False  # what it compiled for later processes, without being told to
    alone: str = ""  # what it does with one thread only

    @property
    def missing(self) -> str:
        """What it lacks here; nothing is imported."""
        if find_spec(self.package) is None:
            return self.name
        if self.needs and shutil.which(self.needs) is None:
            return f"{self.name} (needs {self.needs})"
        return ""

    @property
    def namespace(self) -> Any:
        """What holds the functions, ready for use."""
        return _loaded(self)

    @property
    def version(self) -> str:
        """The version of the distribution, or of the checkout."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return str(import_module(self.package).__version__)


@cache
def _loaded(peer: Peer) -> Any:
    return peer.prepare(import_module(peer.module or peer.package))


_TORCH = Peer("torch", "torch", "torch", prepare=by.prepare_torch, give=by.to_torch)
_TENSORFRAME = Peer(
    OURS,
    "tensorframe",
    "tensorframe-lazy",
    give=by.record,
    finish=by.compute,
    compiles=True,
    keeps=True,
)

PEERS = (
    _TENSORFRAME,
    replace(_TENSORFRAME, name=UNDER_JIT, compiled=by.compiled_by_us, finish=by.same),
    Peer(REFERENCE, "numpy", "numpy", alone="all but matrix products"),
    Peer("numexpr", "numexpr", "numexpr", prepare=by.prepare_numexpr),
    Peer(
        "Numba",
        "numba",
        "numba",
        "tests.benchmarks.by_hand",
        prepare=by.prepare_numba,
        compiles=True,
    ),
    Peer(
        "JAX",
        "jax",
        "jax",
        "jax.numpy",
        prepare=by.prepare_jax,
        give=by.to_jax,
        compiled=by.compiled_by_jax,
        finish=by.finish_jax,
        compiles=True,
    ),
    _TORCH,
    replace(_TORCH, name="torch.compile", compiled=by.compiled_by_torch, compiles=True, keeps=True),
    Peer("Dask", "dask", "dask", "dask.array", give=by.to_dask, finish=by.finish_dask),
    Peer(
        "tinygrad",
        "tinygrad",
        "tinygrad",
        needs="clang",
        prepare=by.prepare_tinygrad,
        give=by.to_tinygrad,
        compiled=by.compiled_by_tinygrad,
        finish=by.finish_tinygrad,
        take=by.from_tinygrad,
        compiles=True,
        keeps=True,
    ),
    Peer(
        "PyTensor",
        "pytensor",
        "pytensor",
        "pytensor.tensor",
        compiled=by.compiled_by_pytensor,
        compiles=True,
        keeps=True,
        alone="all but matrix products",
    ),
)


def present(peers: Iterable[Peer], names: Iterable[str] | None) -> list[Peer]:
    """Return those that are here, of `names` alone, ours and NumPy always; ValueError if there is none of a name."""
    known = {peer.name.lower(): peer.name for peer in peers}
    wanted = set(known.values())
    if names is not None:
        asked = [name.strip().lower() for name in names]
        if unknown := [name for name in asked if name not in known]:
            raise ValueError(f"there is no peer {unknown[0]}: one of {', '.join(known.values())}")
        wanted = {known[name] for name in asked} | {*OWN, REFERENCE}
    return [peer for peer in peers if not peer.missing and peer.name in wanted]
