"""A block of a packed product: tiles one below the other, panel after panel, a part of the terms at a time."""

from __future__ import annotations

from tensorframe.codegen.llvm.spelled import spelled

# Rows of a left factor that lie beside each other, as a column of a tile has them: terms that are far apart come from
# the second level of cache, and would for each panel. All rows of a term are read in one go, as they share lines, which
# are gone from the nearest cache when the next rows want them: what lies so far apart falls into few of its places.
GATHER = """\
define internal void @gather_`ROWS`(ptr %left, i64 %step, i64 %count, ptr %target, i64 %tiles) noinline {
entry:
  %apart = mul i64 %count, `TILE`
  br label %next
next:
  %i = phi i64 [0, %entry], [%after, %done]
  %by = mul i64 %i, %step
  %from = getelementptr i8, ptr %left, i64 %by
  %to = getelementptr [`ROWS` x `SCALAR`], ptr %target, i64 %i
  br label %tile
tile:
  %t = phi i64 [0, %next], [%t_after, %tile]
  %there = phi ptr [%to, %next], [%there_after, %tile]
  %here = getelementptr [`ROWS` x `SCALAR`], ptr %from, i64 %t
  %value = load <`ROWS` x `SCALAR`>, ptr %here, align `SIZE`
  store <`ROWS` x `SCALAR`> %value, ptr %there, align `SIZE`
  %there_after = getelementptr i8, ptr %there, i64 %apart
  %t_after = add nuw i64 %t, 1
  %more_tiles = icmp ult i64 %t_after, %tiles
  br i1 %more_tiles, label %tile, label %done
done:
  %after = add nuw i64 %i, 1
  %more = icmp ult i64 %after, %count
  br i1 %more, label %next, label %exit
exit:
  ret void
}"""


_BLOCK = """\
; One block of a result: `rows` rows of `columns` columns, a part of the terms after the other. A panel's part stays in
; the nearest cache while tiles go down the rows.
define internal void @multiply_block(ptr %left, i64 %row_step, i64 %term_step, i64 %begin, i64 %end_term, i64 %terms,
                                     ptr %right, i64 %columns, i64 %begin_panel, i64 %end_panel,
                                     ptr %result, i64 %pitch, i64 %rows, ptr %gathered, ptr %asked) noinline {
entry:
  %leftmost_panel = call {i64, i64, i64} @panel_of(i64 %columns, i64 %begin_panel)
  %leftmost = extractvalue {i64, i64, i64} %leftmost_panel, 1
  %beside = icmp eq i64 %row_step, `SIZE`
  %is_far = icmp ne i64 %term_step, `SIZE`
  %is_gathered = and i1 %beside, %is_far
  br label %part
part:
  %done = phi i64 [%begin, %entry], [%done_after, %part_end]
  %left_over = sub i64 %end_term, %done
  %short = icmp ule i64 %left_over, `MOST`
  %some = select i1 %short, i64 %left_over, i64 `TERMS`
  %done_after = add i64 %done, %some
  %resumed = sub i64 %done, %begin
  %left_by = mul i64 %resumed, %term_step
  %part_left = getelementptr i8, ptr %left, i64 %left_by
  %row_bytes = mul i64 %some, `SIZE`
  %pairs = lshr i64 %some, 1
  br i1 %is_gathered, label %gathering, label %panel
gathering:
  %g = phi i64 [0, %part], [%g_after, %gathering_end]
  %g_left = sub i64 %rows, %g
  %g_by = mul i64 %g, %row_step
  %g_from = getelementptr i8, ptr %part_left, i64 %g_by
  %g_target = mul i64 %g, %row_bytes
  %g_to = getelementptr i8, ptr %gathered, i64 %g_target
`GATHERS`
gathering_end:
  %g_height = phi i64 `GATHERED`
  %g_after = add i64 %g, %g_height
  %g_more = icmp ult i64 %g_after, %rows
  br i1 %g_more, label %gathering, label %panel
panel:
  %number = phi i64 [%begin_panel, %part], [%begin_panel, %gathering_end], [%number_after, %panel_end]
  %panel_at = call {i64, i64, i64} @panel_of(i64 %columns, i64 %number)
  %first = extractvalue {i64, i64, i64} %panel_at, 1
  %width = extractvalue {i64, i64, i64} %panel_at, 2
  %bytes = mul i64 %first, `WIDTH`
  %all_terms = mul i64 %bytes, %terms
  %width_bytes = mul i64 %width, `WIDTH`
  %terms_by = mul i64 %width_bytes, %done
  %right_by = add i64 %all_terms, %terms_by
  %panel_right = getelementptr i8, ptr %right, i64 %right_by
  %from_leftmost = sub i64 %first, %leftmost
  %corner_by = mul i64 %from_leftmost, `WIDTH`
  %corner = getelementptr i8, ptr %result, i64 %corner_by
  %end = add i64 %first, %width
  %end_before = sub i64 %end, 1
  %full_columns = mul i64 %end_before, `LANES`
  %last = sub i64 %columns, %full_columns
  switch i64 %width, label %wide1 [`OTHERS`]
`WIDTHS`
panel_end:
  %number_after = add i64 %number, 1
  %more_panels = icmp ult i64 %number_after, %end_panel
  br i1 %more_panels, label %panel, label %part_end
part_end:
  %more_terms = icmp ult i64 %done_after, %end_term
  br i1 %more_terms, label %part, label %exit
exit:
  ret void
}"""

# tiles of one width, one below the other
_WIDTH = """\
wide`W`:
  %row`W` = phi i64 [0, %panel], [%row_after`W`, %wide_end`W`]
  %rows_left`W` = sub i64 %rows, %row`W`
  %row_by`W` = mul i64 %row`W`, %row_step
  %plain_left`W` = getelementptr i8, ptr %part_left, i64 %row_by`W`
  %gathered_by`W` = mul i64 %row`W`, %row_bytes
  %gathered_left`W` = getelementptr i8, ptr %gathered, i64 %gathered_by`W`
  %tile_left`W` = select i1 %is_gathered, ptr %gathered_left`W`, ptr %plain_left`W`
  %result_by`W` = mul i64 %row`W`, %pitch
  %tile_result`W` = getelementptr i8, ptr %corner, i64 %result_by`W`
`TILES`
wide_end`W`:
  %height`W` = phi i64 `TAKEN`
  %row_after`W` = add i64 %row`W`, %height`W`
  %more_rows`W` = icmp ult i64 %row_after`W`, %rows
  br i1 %more_rows`W`, label %wide`W`, label %panel_end"""

_TILE = """\
`ASKED`
  %step`H`_`W` = select i1 %is_gathered, i64 `STEP`, i64 %term_step
  call void @tile_`H`_`W`(ptr %tile_left`W`, i64 %row_step, i64 %step`H`_`W`, i64 %some, ptr %panel_right,
                          ptr %tile_result`W`, i64 %pitch, i64 %resumed, i64 %last,
                          ptr `AHEAD`, i64 `LINE_STEP`)"""

# tiles that are wide enough have time to prefetch
_ASKED = """\
  %asked`H`_`W` = call {ptr, i64} @lines_for_tile(ptr %asked, i64 %pairs)
  %ahead`H`_`W` = extractvalue {ptr, i64} %asked`H`_`W`, 0
  %line_step`H`_`W` = extractvalue {ptr, i64} %asked`H`_`W`, 1"""

# as many tiles of a height as there are rows for
_GATHERED = """\
  %tiles_`H` = udiv i64 %g_left, `H`
  %gathered_`H` = mul i64 %tiles_`H`, `H`
  call void @gather_`H`(ptr %g_from, i64 %term_step, i64 %some, ptr %g_to, i64 %tiles_`H`)"""

_WIDE = {"ASKED": _ASKED, "AHEAD": "%ahead`H`_`W`", "LINE_STEP": "%line_step`H`_`W`"}
_NARROW = {"ASKED": "", "AHEAD": "%tile_left`W`", "LINE_STEP": "0"}


def block(words: dict[str, str], heights: list[int], wide: int) -> str:
    """Return the function that makes a block, from the tallest tiles to those of one row."""
    size = int(words["SIZE"])
    gathers, taken = _by_height(
        heights, "g", "%g_left", "gathering_end", _GATHERED, words, rows="%gathered_`H`"
    )
    widths = []
    for width in range(1, wide + 1):
        own = words | {"W": str(width)}
        asked = _WIDE if width > 1 else _NARROW
        steps = {height: asked | {"STEP": str(height * size)} for height in heights}
        tiles, heights_taken = _by_height(
            heights, f"w{width}", f"%rows_left{width}", f"wide_end{width}", _TILE, own, steps
        )
        widths.append(spelled(_WIDTH, own | {"TILES": tiles, "TAKEN": heights_taken}))
    whole = words | {
        "GATHERS": gathers,
        "GATHERED": taken,
        "WIDTHS": "\n".join(widths),
        "OTHERS": " ".join(f"i64 {width}, label %wide{width}" for width in range(2, wide + 1)),
    }
    return spelled(_BLOCK, whole)


def _by_height(
    heights: list[int],
    name: str,
    left: str,
    end: str,
    call: str,
    words: dict[str, str],
    steps: dict[int, dict[str, str]] | None = None,
    rows: str = "`H`",
) -> tuple[str, str]:
    """Return the branches to the tallest of the heights that fit into `left` rows, and how many `rows` each takes."""
    lines = []
    for height, lower in zip(heights, [*heights[1:], 0], strict=True):
        label = f"{name}_{height}"
        if lower:
            lines += [
                f"  %fits_{label} = icmp uge i64 {left}, {height}",
                f"  br i1 %fits_{label}, label %do_{label}, label %below_{label}",
            ]
        else:
            lines.append(f"  br label %do_{label}")
        own = (steps or {}).get(height, {}) | {"H": str(height)} | words
        lines += [f"do_{label}:", spelled(call, own), f"  br label %{end}"]
        if lower:
            lines.append(f"below_{label}:")
    taken = ", ".join(
        spelled(f"[{rows}, %do_{name}_`H`]", {"H": str(height)}) for height in heights
    )
    return "\n".join(lines), taken
