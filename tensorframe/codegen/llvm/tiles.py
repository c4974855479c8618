"""Tiles of a product, one below the other: the loop over rows that both kinds of convolutions print."""

from __future__ import annotations

from collections.abc import Sequence


def rows_of_tiles(
    wide: int, heights: Sequence[int], row: str, corner: Sequence[str], call: str
) -> list[str]:
    """Return the loop over rows for tiles that are `wide` across, the tallest ones first.

    `row` is the type of what a table has for each row, `corner` computes what else a tile needs, `call` makes one;
    `{name}` in it is the height and width.
    """
    lines = [
        f"wide{wide}:",
        f"  br label %tile{wide}",
        f"tile{wide}:",
        f"  %row{wide} = phi i64 [%start, %wide{wide}], [%row_after{wide}, %tile_end{wide}]",
        f"  %rows_left{wide} = sub i64 %stop, %row{wide}",
        f"  %own_rows{wide} = getelementptr {row}, ptr %rows, i64 %row{wide}",
        *corner,
    ]
    for height, lower in zip(heights, [*heights[1:], 0], strict=True):
        name = f"{height}_{wide}"
        if lower:
            lines += [
                f"  %fits{name} = icmp uge i64 %rows_left{wide}, {height}",
                f"  br i1 %fits{name}, label %do{name}, label %below{name}",
            ]
        else:
            lines.append(f"  br label %do{name}")
        lines += [f"do{name}:", call.format(name=name), f"  br label %tile_end{wide}"]
        if lower:
            lines.append(f"below{name}:")
    taken = ", ".join(f"[{height}, %do{height}_{wide}]" for height in heights)
    return [
        *lines,
        f"tile_end{wide}:",
        f"  %height{wide} = phi i64 {taken}",
        f"  %row_after{wide} = add i64 %row{wide}, %height{wide}",
        f"  %more_rows{wide} = icmp ult i64 %row_after{wide}, %stop",
        f"  br i1 %more_rows{wide}, label %tile{wide}, label %panel_end",
    ]
