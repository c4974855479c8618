"""Words that the text of packed products is spelled with: a vector and its parts, by dtype and processor."""

from __future__ import annotations

from tensorframe.codegen.llvm.indirect_product import TERMS, Shape
from tensorframe.codegen.llvm.packed.slots import MOST_ARRAYS, MOST_SLOTS, MOST_TERMS
from tensorframe.machine import HOST


def panel_width(shape: Shape) -> int:
    """Return how many vectors a panel has at most."""
    return min(shape.vectors, 3 if shape.rows[2] > 4 else 2)


def words_for(lanes: int, scalar: str, size: int, wide: int, data: int) -> dict[str, str]:
    """Return the words of vectors of so many lanes, and of panels of so many vectors."""
    kind = f"v{lanes}f{8 * size}"
    return {
        "LANES": str(lanes),
        "LANES_1": str(lanes - 1),
        "VECTOR": f"<{lanes} x {scalar}>",
        "MASK": f"<{lanes} x i1>",
        "WIDTH": str(lanes * size),
        "SCALAR": scalar,
        "DATA": str(data),
        "FAKE": str(data + 8),
        "LINE": str(HOST.line),
        "MOST_ARRAYS": str(MOST_ARRAYS),
        "MOST_SLOTS": str(MOST_SLOTS),
        "SIZE": str(size),
        "KIND": kind,
        "WIDE": str(wide),
        "WIDE_1": str(wide - 1),
        "MOST": str(MOST_TERMS),
        "TERMS": str(TERMS),
    }


DECLARED = """\
; A panel: at which vector it begins, and how many it has. All of them are as wide as another, or one vector wider.
define internal {i64, i64, i64} @panel_of(i64 %columns, i64 %number) alwaysinline {
  %more = add i64 %columns, `LANES_1`
  %vectors = udiv i64 %more, `LANES`
  %rounded = add i64 %vectors, `WIDE_1`
  %panels = udiv i64 %rounded, `WIDE`
  %base = udiv i64 %vectors, %panels
  %extra = urem i64 %vectors, %panels
  %before = call i64 @llvm.umin.i64(i64 %number, i64 %extra)
  %by = mul i64 %number, %base
  %first = add i64 %by, %before
  %is_wider = icmp ult i64 %number, %extra
  %one = zext i1 %is_wider to i64
  %width = add i64 %base, %one
  %a = insertvalue {i64, i64, i64} poison, i64 %panels, 0
  %b = insertvalue {i64, i64, i64} %a, i64 %first, 1
  %c = insertvalue {i64, i64, i64} %b, i64 %width, 2
  ret {i64, i64, i64} %c
}"""
