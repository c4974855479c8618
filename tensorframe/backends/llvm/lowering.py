"""Lowering: a region's loops, its kernels for operands of one layout, and their text; each once for equal regions.

Layers of a network are equal regions, and so are most steps of two plans of one program: the text of a kernel takes
about as long to make as the kernel to compile. What was needed longest ago is forgotten, so memory is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tensorframe.codegen.llvm import Target
from tensorframe.codegen.llvm import print_kernel as printed_by_llvm
from tensorframe.codegen.text import Text
from tensorframe.graph.region import Region
from tensorframe.graph.shape import Shape
from tensorframe.graph.space import Space
from tensorframe.kernel.ir import Kernel
from tensorframe.kernel.nest.assemble import Built
from tensorframe.kernel.spaces.analyse import space_of
from tensorframe.kernel.spaces.complex import Parts, in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.quick_tuples import NamedTuple

# Regions, layouts and kernels that are remembered: a network has a dozen or two, with gradients three times as many.
_KEPT = 128


class Loops(NamedTuple):
    """What kernels compute of a region, with complex numbers taken apart, and the loops that it runs in."""

    parts: Parts
    space: Space


def loops_of(region: Region) -> Loops:
    """Return the loops of a region."""
    return _loops_of(region.key())


def kernels_of(build: Callable[..., Built], region: Region, strides: tuple[Shape, ...]) -> Built:
    """Return what `build` makes of the loops of a region whose inputs have these strides, in elements."""
    return _kernels_of(build, region.key(), strides)


def scatters_of(region: Region, strides: tuple[Shape, ...]) -> Built:
    """Return the kernels of a scatter whose inputs have these strides, in elements."""
    return _scatters_of(region.key(), strides)


def sparse_of(region: Region, strides: tuple[Shape, ...]) -> Built:
    """Return the kernels of a product with sparse matrices whose inputs have these strides, in elements."""
    return _sparse_of(region.key(), strides)


@lru_cache(_KEPT)
def print_kernel(kernel: Kernel, target: Target) -> Text:
    """Return a kernel as a module of LLVM."""
    return printed_by_llvm(kernel, target)


def forget() -> None:
    """Forget everything: for who changes how kernels are made."""
    for remembered in (_loops_of, _kernels_of, _scatters_of, _sparse_of, print_kernel):
        remembered.cache_clear()


@lru_cache(_KEPT)
def _loops_of(key: tuple[Any, ...]) -> Loops:
    region, *_ = key
    parts = in_parts(expanded(region))
    return Loops(parts, space_of(parts.region))


@lru_cache(_KEPT)
def _kernels_of(
    build: Callable[..., Built], key: tuple[Any, ...], strides: tuple[Shape, ...]
) -> Built:
    parts, space = _loops_of(key)
    return build(parts.region, space, strides, parts.places)


@lru_cache(_KEPT)
def _scatters_of(key: tuple[Any, ...], strides: tuple[Shape, ...]) -> Built:
    from tensorframe.kernel.forms.scatter import build_scatter  # few programs scatter

    region, *_ = key
    return build_scatter(region, strides)


@lru_cache(_KEPT)
def _sparse_of(key: tuple[Any, ...], strides: tuple[Shape, ...]) -> Built:
    from tensorframe.kernel.forms.sparse import build_sparse  # and fewer have sparse matrices

    region, *_ = key
    return build_sparse(region, strides)
