"""Coordinates: how far to the right each node and joint of ordered rows stands, so that lines are straight and short.

Row by row, nodes take the places nearest, by weighted least squares, to those of their neighbours that keep their order
and distance: isotonic regression by pooling adjacent violators, which is exact and linear. Sweeps downwards and upwards
carry places through the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise

from tensorframe.notebook.diagrams.layers import Rows, main_links, neighbours

# (the other end, the weight of the link, how far to the right of it this end wants to be)
Pull = tuple[int, float, float]

_EFFORT = 160_000  # links that sweeps look at in all
_MOST_SWEEPS = 24
# Links between joints pull hardest, since a long line that bends is what one notices first.
_NODES, _MIXED, _JOINTS = 1.0, 3.0, 12.0
_ASIDE = 0.001


def spread(
    rows: Rows,
    width: Callable[[int], float],
    gap: Callable[[int, int], float],
    shift: Callable[[int, int, int], float],
) -> dict[int, float]:
    """Return the centre of every node and joint.

    `gap` is the room between two neighbours of a row, `shift(upper, lower, net)` how far the lower end of a straight
    link is to the right of the upper one's centre.
    """
    apart = [[_apart(left, two, width, gap) for left, two in pairwise(row)] for row in rows.rows]
    above, below = _pulls(rows, shift)
    centres = _pack(rows.rows, apart)
    sweeps = min(_MOST_SWEEPS, max(3, _EFFORT // max(1, len(rows.links))))
    both = {node: above[node] + below[node] for node in above}
    for sweep in range(sweeps):
        # what both sides say is balanced last: it moves a long picture only slowly
        pulls = both if sweep >= sweeps * 2 // 3 else (above, below)[sweep % 2]
        numbers = range(len(rows.rows))
        for number in numbers if sweep % 2 == 0 else reversed(numbers):
            _settle(rows.rows[number], apart[number], pulls, centres)
    _straighten(rows, apart, centres, shift)
    return centres


def _apart(
    left: int, two: int, width: Callable[[int], float], gap: Callable[[int, int], float]
) -> float:
    return (width(left) + width(two)) / 2 + gap(left, two)


def _pulls(
    rows: Rows, shift: Callable[[int, int, int], float]
) -> tuple[dict[int, list[Pull]], dict[int, list[Pull]]]:
    above: dict[int, list[Pull]] = {node: [] for row in rows.rows for node in row}
    below: dict[int, list[Pull]] = {node: [] for node in above}
    main = main_links(rows)
    for link in rows.links:
        joints = rows.is_joint(link.upper) + rows.is_joint(link.lower)
        weight = (_NODES, _MIXED, _JOINTS)[joints]
        to_the_right = shift(link.upper, link.lower, link.net)
        # what hangs on something follows it, and what stands beside that follows in turn
        aside = link.lower in main and main[link.lower] is not link
        weight *= _ASIDE if aside else 1.0
        above[link.lower].append((link.upper, weight, to_the_right))
        below[link.upper].append((link.lower, weight, -to_the_right))
    return above, below


def _pack(rows: Sequence[Sequence[int]], apart: Sequence[Sequence[float]]) -> dict[int, float]:
    """Return places side by side, each row in the middle."""
    centres = {}
    for row, distances in zip(rows, apart, strict=True):
        centre = -sum(distances) / 2
        for node, distance in zip(row, [*distances, 0.0], strict=True):
            centres[node] = centre
            centre += distance
    return centres


def _settle(
    row: Sequence[int],
    apart: Sequence[float],
    pulls: Mapping[int, Sequence[Pull]],
    centres: dict[int, float],
) -> None:
    """Move the nodes of a row to where their neighbours want them, as far as order and distances allow."""
    wishes = []
    for node in row:
        weight = sum(pull[1] for pull in pulls[node])
        wish = sum((centres[other] + right) * pull for other, pull, right in pulls[node])
        # who is not pulled stays, unless anybody wants the place
        wishes.append((wish / weight, weight) if weight else (centres[node], _ASIDE))
    centres.update(zip(row, nearest(wishes, apart), strict=True))


def nearest(wishes: Sequence[tuple[float, float]], apart: Sequence[float]) -> list[float]:
    """Return the places nearest to the wishes, each with its weight, that are in order and at least so far apart."""
    blocks: list[tuple[float, float, int]] = []  # the mean wish, its weight, how many there are
    offsets = list(accumulate(apart, initial=0.0))
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        block = (wish - offset, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            block = _pool(blocks.pop(), block)
        blocks.append(block)
    means = [mean for mean, _, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _straighten(
    rows: Rows,
    apart: Sequence[Sequence[float]],
    centres: dict[int, float],
    shift: Callable[[int, int, int], float],
) -> None:
    """Put what follows one another, and nothing else, exactly below one another, as far as neighbours leave room.

    Sweeps end with lines that are nearly straight, which looks worse than lines that are not straight at all.
    """
    place = {
        node: (row, place_in_row)
        for row, ones in enumerate(rows.rows)
        for place_in_row, node in enumerate(ones)
    }
    for run in _runs(rows, shift):
        start = 0
        while start < len(run):
            low, high, size = _room(run[start:], rows, apart, centres, place)
            part = run[start : start + size]
            mean = sum(centres[node] - right for node, right in part) / size
            for node, right in part:
                centres[node] = min(max(mean, low), high) + right
            start += size


def _runs(rows: Rows, shift: Callable[[int, int, int], float]) -> list[list[tuple[int, float]]]:
    """Return trunks of nets and chains of nodes; each member with how far it is to the right of the first."""
    _, below = neighbours(rows)
    main = main_links(rows)
    following: dict[int, tuple[int, float]] = {}
    for link in rows.links:
        trunk = rows.is_joint(link.upper) and rows.is_joint(link.lower)
        if trunk or (len(below[link.upper]) == 1 and main.get(link.lower) is link):
            following[link.upper] = (link.lower, shift(link.upper, link.lower, link.net))
    runs = []
    for first in set(following) - {node for node, _ in following.values()}:
        run = [(first, 0.0)]
        while run[-1][0] in following:
            node, right = following[run[-1][0]]
            run.append((node, run[-1][1] + right))
        runs.append(run)
    # long lines first: they are what one sees
    return sorted(runs, key=lambda run: (-len(run), run[0][0]))


def _room(
    run: Sequence[tuple[int, float]],
    rows: Rows,
    apart: Sequence[Sequence[float]],
    centres: Mapping[int, float],
    place: Mapping[int, tuple[int, int]],
) -> tuple[float, float, int]:
    """Return between which places a run can stand straight, and how much of it."""
    low, high = float("-inf"), float("inf")
    for size, (node, right) in enumerate(run):
        row, index = place[node]
        ones = rows.rows[row]
        left = centres[ones[index - 1]] + apart[row][index - 1] if index else float("-inf")
        end = (
            centres[ones[index + 1]] - apart[row][index] if index + 1 < len(ones) else float("inf")
        )
        narrower = max(low, left - right), min(high, end - right)
        if narrower[0] > narrower[1] and size:
            return low, high, size
        low, high = narrower[0], max(narrower)  # rounding may leave less than nothing
    return low, high, len(run)


def _pool(
    left: tuple[float, float, int], two: tuple[float, float, int]
) -> tuple[float, float, int]:
    weight = left[1] + two[1]
    return ((left[0] * left[1] + two[0] * two[1]) / weight, weight, left[2] + two[2])
