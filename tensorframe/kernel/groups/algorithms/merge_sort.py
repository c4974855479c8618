"""Sorting along an axis by work-groups: runs are merged in shared memory, long rows by passes over device memory.

Where few elements are wanted, they are selected: of every block of a row its first ones are kept, and of these again,
until there is one block. The row is read once, and nothing but candidates is written between the kernels.
"""

from __future__ import annotations

from tensorframe.kernel.groups.algorithms.sort_kernels import Pass, Sorting, area_of, block_of
from tensorframe.kernel.groups.forms import Target
from tensorframe.kernel.nest.assemble import Built, Launch

__all__ = ["Sorting", "build_sort"]


def build_sort(sorting: Sorting, target: Target) -> Built:
    """Return the kernels that sort, and the memory between them."""
    area = area_of(sorting.length, target)
    few = 0 < sorting.count <= area // 2  # so that each kernel leaves half of the elements at most
    longer = sorting.length > area
    launches, between = (_selected if few and longer else _merged)(sorting, target)
    partials = tuple([(dtype, size, 0) for size in between for dtype in sorting.held])
    layout = tuple(range(len(sorting.shape)))
    return Built(tuple(launches), partials, (layout,) * len(sorting.outputs))


def _merged(sorting: Sorting, target: Target) -> tuple[list[Launch], list[int]]:
    """Return the launches that sort blocks and merge them in pairs, and the elements of each buffer between them."""
    total = sorting.rows * sorting.length
    runs = [block_of(sorting.length, target)]
    while runs[-1] < sorting.length:
        runs.append(2 * runs[-1])
    launches = []
    for turn, run in enumerate(runs):
        kernel = Pass(sorting, target, turn, sorting.length, last=turn == len(runs) - 1)
        if turn:
            launches.append(kernel.launch(kernel.merged(run // 2), total))
        else:
            launches.append(kernel.launch(*kernel.blocks(run)))
    return launches, [total] * min(len(runs) - 1, 2)


def _selected(sorting: Sorting, target: Target) -> tuple[list[Launch], list[int]]:
    """Return the launches that keep the first elements of blocks, and the elements of each buffer between them."""
    lengths = [sorting.length]
    while lengths[-1] > (block := block_of(lengths[-1], target)):
        whole, rest = divmod(lengths[-1], block)
        lengths.append(whole * sorting.count + min(rest, sorting.count))
    launches = []
    for turn, length in enumerate(lengths):
        kernel = Pass(sorting, target, turn, length, last=turn == len(lengths) - 1)
        launches.append(kernel.launch(*kernel.blocks(sorting.count)))
    return launches, [sorting.rows * length for length in lengths[1:3]]
