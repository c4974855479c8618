"""Strokes: the lines of wires as paths of SVG, with an arrow where each arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tensorframe.notebook.diagrams.diagram import Wire
from tensorframe.notebook.diagrams.placing import ARROW, Curve, Turn
from tensorframe.notebook.style import TRANSFER_HUE, text

_CORNER = 6.0  # of lines that turn


Lines = Sequence[Curve | Turn]


def wire_parts(
    wires: Sequence[Wire], lines: Sequence[Lines], inner: Sequence[Lines]
) -> Iterator[str]:
    """Yield the wires: `lines` between frames, and `inner` ones in them; what moves lies over what stays."""
    stays, moves = [], []
    for wire, outside, inside in zip(wires, lines, inner, strict=True):
        hint = f"<title>{text(wire.label)}</title>" if wire.label else ""
        # inside a kernel a value has arrived
        stays += [_strokes(hint, inside if wire.moves else [*outside, *inside])]
        moves += [_strokes(hint, outside)] if wire.moves else []
    yield f'<g opacity="0.5" fill="currentColor" stroke="currentColor" stroke-width="1.3">{"".join(stays)}</g>'
    if moves:
        yield f'<g fill="{TRANSFER_HUE}" stroke="{TRANSFER_HUE}" stroke-width="2.4">{"".join(moves)}</g>'


def _strokes(hint: str, lines: Lines) -> str:
    """Return the strokes of a wire, in the colours of the group that they are in."""
    if not lines:
        return ""
    path = " ".join(_path(line) for line in lines)
    ends = [
        line.end if isinstance(line, Curve) else line.points[-1] for line in lines if line.arrow
    ]
    arrows = "".join(
        f"M{x:.1f} {y:.1f}l{-ARROW * 0.8:.1f} {-ARROW * 1.6:.1f}h{ARROW * 1.6:.1f}z"
        for x, y in ends
    )
    heads = f'<path stroke="none" d="{arrows}"/>' if arrows else ""
    return f'<g>{hint}<path fill="none" d="{path}"/>{heads}</g>'


def _path(line: Curve | Turn) -> str:
    if isinstance(line, Turn):
        return _turning(line)
    (x0, y0), (foot, head), (x1, y1) = line.start, line.bends, line.end
    tip = y1 - 1.5 * ARROW if line.arrow else y1
    if abs(x0 - x1) < 0.5:
        return f"M{x0:.1f} {y0:.1f}L{x1:.1f} {tip:.1f}"
    middle = (foot + head) / 2
    down = f"M{x0:.1f} {y0:.1f}" + (f"V{foot:.1f}" if foot - y0 > 0.5 else "")
    over = f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {head:.1f}"
    return down + over + (f"V{tip:.1f}" if tip - head > 0.5 else "")


def _turning(line: Turn) -> str:
    """Return a line around corners, each of them round."""
    points = line.points
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x0, y0), (x1, y1), (x2, y2) in zip(points, points[1:], points[2:], strict=False):
        before = min(_CORNER, (abs(x1 - x0) + abs(y1 - y0)) / 2)
        behind = min(_CORNER, (abs(x2 - x1) + abs(y2 - y1)) / 2)
        ax, ay = x1 - before * _sign(x1 - x0), y1 - before * _sign(y1 - y0)
        bx, by = x1 + behind * _sign(x2 - x1), y1 + behind * _sign(y2 - y1)
        path += f"L{ax:.1f} {ay:.1f}Q{x1:.1f} {y1:.1f} {bx:.1f} {by:.1f}"
    tip = points[-1][1] - (1.5 * ARROW if line.arrow else 0.0)
    return path + f"L{points[-1][0]:.1f} {tip:.1f}"


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
