"""Sorting along an axis by work-groups: runs are merged in shared memory, long rows by passes over device memory.

Where few elements are wanted, they are selected: of every block of a row its first ones are kept, and of these again,
until there is one block. The row is read once, and nothing but candidates is written between the kernels.
"""

from __future__ import annotations

from tensorframe.kernel.groups.algorithms.sort_kernels import Pass, Sorting, area_of, block_of
from tensorframe.kernel.groups.target import Target
from tensorframe.kernel.nest.assemble import Built, Launch

__all__ = ["Sorting", "build_sort", "elements_between", "reads_once"]


def build_sort(sorting: Sorting, target: Target) -> Built:
    """Return the kernels that sort, and the memory between them."""
    few = _is_selected(sorting, target.lanes)
    launches = (_selected if few else _merged)(sorting, target)
    between = elements_between(sorting, target.lanes)
    partials = tuple([(dtype, size, 0) for size in between for dtype in sorting.held])
    layout = tuple(range(len(sorting.shape)))
    return Built(tuple(launches), partials, (layout,) * len(sorting.outputs))


def elements_between(sorting: Sorting, lanes: int) -> list[int]:
    """Return the elements of each buffer that kernels of so many threads leave to the next one."""
    if _is_selected(sorting, lanes):
        return [sorting.rows * length for length in _lengths(sorting, lanes)[1:3]]
    return [sorting.rows * sorting.length] * min(len(_runs(sorting, lanes)) - 1, 2)


def reads_once(length: int, count: int, lanes: int) -> bool:
    """Whether kernels that want `count` elements of rows read these once: they are short, or selected from."""
    return length <= area_of(length, lanes) or _are_few(length, count, lanes)


def _is_selected(sorting: Sorting, lanes: int) -> bool:
    """Whether rows are long, and each kernel leaves half of their elements at most."""
    is_long = sorting.length > area_of(sorting.length, lanes)
    return is_long and _are_few(sorting.length, sorting.count, lanes)


def _are_few(length: int, count: int, lanes: int) -> bool:
    return 0 < count <= area_of(length, lanes) // 2


def _runs(sorting: Sorting, lanes: int) -> list[int]:
    """Return the lengths of the runs that each kernel leaves."""
    runs = [block_of(sorting.length, lanes)]
    while runs[-1] < sorting.length:
        runs.append(2 * runs[-1])
    return runs


def _lengths(sorting: Sorting, lanes: int) -> list[int]:
    """Return the lengths of the rows that each kernel selects from."""
    lengths = [sorting.length]
    while lengths[-1] > (block := block_of(lengths[-1], lanes)):
        whole, rest = divmod(lengths[-1], block)
        lengths.append(whole * sorting.count + min(rest, sorting.count))
    return lengths


def _merged(sorting: Sorting, target: Target) -> list[Launch]:
    """Return the launches that sort blocks and merge them in pairs."""
    total = sorting.rows * sorting.length
    runs = _runs(sorting, target.lanes)
    launches = []
    for turn, run in enumerate(runs):
        kernel = Pass(sorting, target, turn, sorting.length, last=turn == len(runs) - 1)
        if turn:
            launches.append(kernel.launch(kernel.merged(run // 2), total))
        else:
            launches.append(kernel.launch(*kernel.blocks(run)))
    return launches


def _selected(sorting: Sorting, target: Target) -> list[Launch]:
    """Return the launches that keep the first elements of blocks."""
    lengths = _lengths(sorting, target.lanes)
    launches = []
    for turn, length in enumerate(lengths):
        kernel = Pass(sorting, target, turn, length, last=turn == len(lengths) - 1)
        launches.append(kernel.launch(*kernel.blocks(sorting.count)))
    return launches
