"""The order of a contraction: which two operands to multiply next, so that all of it takes the fewest multiplications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Operands up to which every order is looked at, and up to which dynamic programming finds the best one that makes no
# outer products; a greedy search goes through more.
_ALL_ORDERS, _BEST = 5, 12


def contraction_order(
    terms: Sequence[str], output: str, sizes: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Return pairs of positions: each pair leaves the list of operands, and its product joins at the end."""
    if len(terms) < 3:
        return [(0, 1)] * (len(terms) - 1)
    from opt_einsum import contract_path  # 30 ms that only long contractions should pay

    count = len(terms)
    method = "optimal" if count <= _ALL_ORDERS else "dp" if count <= _BEST else "greedy"
    # an index without elements would make every order cost nothing
    shapes = [tuple([max(sizes[index], 1) for index in term]) for term in terms]
    path, _ = contract_path(
        ",".join(terms) + "->" + output, *shapes, shapes=True, optimize=method
    )
    return [_pair(step) for step in path]


def _pair(step: Sequence[int]) -> tuple[int, int]:
    left, right = sorted(step)
    return left, right
