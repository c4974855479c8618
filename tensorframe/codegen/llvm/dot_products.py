"""Dot products of rows that lie anywhere: for factors whose sums run along memory, and results that are few.

Both factors are read along segments, whose beginnings a table says, in vectors: each row of the left factor with each
column of the right one is a register of partial sums, which are added up at the end.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.indirect_product import (
    SCALARS,
    fused_multiply_add,
    module,
    shape_for,
)
from tensorframe.codegen.llvm.loops import named_slots
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.tiles import rows_of_tiles
from tensorframe.dtypes import DType

DOTS = "dot_products"

# what a call is given, in 64-bit slots
DOT_SLOTS = (
    "left",  # address of the left factor
    "right",  # and of the right one
    "result",
    "rows",  # address of bytes from `left` to each row
    "segments",  # address of pairs: bytes to a segment in the left factor, in the right one
    "count",  # of segments
    "length",  # elements of a segment
    "columns",
    "column_step",  # bytes from one column of the right factor to the next
    "pitch",  # bytes from one column of the result to the next; its rows are next to each other
    "times",  # how many products, each so many bytes on in the factors and the result:
    "left_step",
    "right_step",
    "result_step",
)
_POINTERS = 5


def tile_heights(target: Target) -> tuple[tuple[int, ...], ...]:
    """Return the rows of tiles of one, two, three columns: nine are the positions of the most common kernel."""
    if "+avx512f" in target.features or not target.is_x86:
        return (9, 4, 2, 1), (9, 4, 2, 1), (6, 4, 2, 1)
    return (9, 4, 2, 1), (6, 4, 2, 1), (3, 2, 1)


def print_dots(target: Target, layout: str, dtype: DType) -> str:
    """Return the module with the function that makes rows `start` to `stop`, for a dtype."""
    lanes, scalar, size = shape_for(target, dtype).lanes, SCALARS[dtype], dtype.itemsize
    heights = tile_heights(target)
    vector, number = f"<{lanes} x {scalar}>", f"f{8 * size}"
    tiles = [
        _tile(height, columns, lanes, scalar, size)
        for columns, rows in enumerate(heights, start=1)
        for height in rows
    ]
    return module(
        target,
        layout,
        fused_multiply_add(lanes, dtype),
        f"declare {vector} @llvm.masked.load.v{lanes}{number}.p0(ptr, i32, <{lanes} x i1>, {vector})",
        f"declare {scalar} @llvm.vector.reduce.fadd.v{lanes}{number}({scalar}, {vector})",
        "declare i64 @llvm.umin.i64(i64, i64)",
        *tiles,
        _all_tiles(heights, scalar),
    )


def _tile(rows: int, columns: int, lanes: int, scalar: str, size: int) -> str:
    """Return the function that makes so many rows and columns of a product, whose sums stay in registers."""
    parameters = (
        "ptr %left, ptr %rows, ptr %segments, i64 %count, i64 %length, ptr %right, i64 %column_step, "
        "ptr %result, i64 %pitch"
    )
    lines = [
        f"define internal void @dots_{rows}_{columns}({parameters}) noinline {{",
        "entry:",
        *_addresses(rows, columns),
        *_whole_and_rest(lanes, size),
        *_over_segments(rows, columns, lanes, scalar, size),
        "exit:",
        *_stored(rows, columns, lanes, scalar, size),
    ]
    return "\n".join([*lines, "  ret void", "}"])


def _addresses(rows: int, columns: int) -> list[str]:
    """Return where rows of the left factor and columns of the right one are."""
    lines: list[str] = []
    for row in range(rows):
        lines += [
            f"  %at{row} = getelementptr i64, ptr %rows, i64 {row}",
            f"  %to{row} = load i64, ptr %at{row}",
            f"  %left{row} = getelementptr i8, ptr %left, i64 %to{row}",
        ]
    for column in range(columns):
        lines += [
            f"  %by{column} = mul i64 %column_step, {column}",
            f"  %right{column} = getelementptr i8, ptr %right, i64 %by{column}",
        ]
    return lines


def _whole_and_rest(lanes: int, size: int) -> list[str]:
    """Return how many whole vectors a segment has, and the lanes of the last one that are part of it."""
    ramp = ", ".join(f"i64 {lane}" for lane in range(lanes))
    return [
        f"  %whole = udiv i64 %length, {lanes}",
        f"  %rest = urem i64 %length, {lanes}",
        f"  %some = insertelement <{lanes} x i64> poison, i64 %rest, i64 0",
        f"  %all = shufflevector <{lanes} x i64> %some, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer",
        f"  %mask = icmp ult <{lanes} x i64> <{ramp}>, %all",
        "  %has_rest = icmp ne i64 %rest, 0",
        "  %has_whole = icmp ne i64 %whole, 0",
        f"  %end = mul i64 %whole, {lanes * size}",
        "  br label %segment",
    ]


def _over_segments(rows: int, columns: int, lanes: int, scalar: str, size: int) -> list[str]:
    """Return the loop over segments, and in it that over whole vectors, and what is left."""
    vector = f"<{lanes} x {scalar}>"
    cells = _cells(rows, columns)
    return [
        "segment:",
        "  %s = phi i64 [0, %entry], [%s_after, %segment_end]",
        *[
            f"  %begun{r}_{c} = phi {vector} [zeroinitializer, %entry], [%done{r}_{c}, %segment_end]"
            for r, c in cells
        ],
        "  %pair = getelementptr {i64, i64}, ptr %segments, i64 %s",
        "  %along = load i64, ptr %pair",
        "  %second = getelementptr i64, ptr %pair, i64 1",
        "  %across = load i64, ptr %second",
        "  br i1 %has_whole, label %vectors, label %whole_done",
        "vectors:",
        "  %i = phi i64 [0, %segment], [%i_after, %vectors]",
        *[
            f"  %sum{r}_{c} = phi {vector} [%begun{r}_{c}, %segment], [%more{r}_{c}, %vectors]"
            for r, c in cells
        ],
        "  %left_by = add i64 %along, %i",
        "  %right_by = add i64 %across, %i",
        *_taken_in("v", "sum", "more", rows, columns, lanes, scalar, size, masked=False),
        f"  %i_after = add i64 %i, {lanes * size}",
        "  %again = icmp ult i64 %i_after, %end",
        "  br i1 %again, label %vectors, label %whole_done",
        "whole_done:",
        *[
            f"  %full{r}_{c} = phi {vector} [%begun{r}_{c}, %segment], [%more{r}_{c}, %vectors]"
            for r, c in cells
        ],
        "  br i1 %has_rest, label %tail, label %segment_end",
        "tail:",
        "  %left_tail = add i64 %along, %end",
        "  %right_tail = add i64 %across, %end",
        *_taken_in("t", "full", "last", rows, columns, lanes, scalar, size, masked=True),
        "  br label %segment_end",
        "segment_end:",
        *[
            f"  %done{r}_{c} = phi {vector} [%full{r}_{c}, %whole_done], [%last{r}_{c}, %tail]"
            for r, c in cells
        ],
        "  %s_after = add i64 %s, 1",
        "  %more_segments = icmp ult i64 %s_after, %count",
        "  br i1 %more_segments, label %segment, label %exit",
    ]


def _stored(rows: int, columns: int, lanes: int, scalar: str, size: int) -> list[str]:
    """Return the lines that add the lanes of each sum up, and store it."""
    vector = f"<{lanes} x {scalar}>"
    lines: list[str] = []
    reduce = f"reassoc {scalar} @llvm.vector.reduce.fadd.v{lanes}f{8 * size}"
    for r, c in _cells(rows, columns):
        lines += [
            f"  %total{r}_{c} = call {reduce}({scalar} -0.0, {vector} %done{r}_{c})",
            f"  %down{r}_{c} = mul i64 %pitch, {c}",
            f"  %column{r}_{c} = getelementptr i8, ptr %result, i64 %down{r}_{c}",
            f"  %cell{r}_{c} = getelementptr {scalar}, ptr %column{r}_{c}, i64 {r}",
            f"  store {scalar} %total{r}_{c}, ptr %cell{r}_{c}, align {size}",
        ]
    return lines


def _cells(rows: int, columns: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(rows) for column in range(columns)]


def _taken_in(
    mark: str,
    before: str,
    after: str,
    rows: int,
    columns: int,
    lanes: int,
    scalar: str,
    size: int,
    *,
    masked: bool,
) -> list[str]:
    """Return the lines that add the products of one vector of each row and each column."""
    vector = f"<{lanes} x {scalar}>"
    place = "tail" if masked else "by"

    def loaded(name: str, side: str, number: int) -> list[str]:
        address = f"  %{name}_at = getelementptr i8, ptr %{side}{number}, i64 %{side}_{place}"
        if not masked:
            return [address, f"  %{name} = load {vector}, ptr %{name}_at, align {size}"]
        function = f"@llvm.masked.load.v{lanes}f{8 * size}.p0"
        arguments = f"ptr %{name}_at, i32 {size}, <{lanes} x i1> %mask, {vector} zeroinitializer"
        return [address, f"  %{name} = call {vector} {function}({arguments})"]

    lines: list[str] = []
    for column in range(columns):
        lines += loaded(f"{mark}y{column}", "right", column)
    for row in range(rows):
        lines += loaded(f"{mark}x{row}", "left", row)
        for column in range(columns):
            cell = f"{row}_{column}"
            operands = (
                f"{vector} %{mark}x{row}, {vector} %{mark}y{column}, {vector} %{before}{cell}"
            )
            lines.append(
                f"  %{after}{cell} = call {vector} @llvm.fmuladd.v{lanes}f{8 * size}({operands})"
            )
    return lines


def _all_tiles(heights: tuple[tuple[int, ...], ...], scalar: str) -> str:
    """Return the function with the loops over products, columns and rows."""
    lines = [f"define void @{DOTS}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{", "entry:"]
    lines += [
        *named_slots(DOT_SLOTS, pointers=_POINTERS),
        "  br label %product",
        "product:",
        "  %time = phi i64 [0, %entry], [%time_after, %product_end]",
    ]
    for name in ("left", "right", "result"):
        lines += [
            f"  %{name}_by = mul i64 %time, %{name}_step",
            f"  %this_{name} = getelementptr i8, ptr %{name}, i64 %{name}_by",
        ]
    others = "  ".join(
        f"i64 {columns}, label %wide{columns}" for columns in range(2, len(heights) + 1)
    )
    lines += [
        "  br label %panel",
        "panel:",
        "  %column = phi i64 [0, %product], [%column_after, %panel_end]",
        "  %columns_left = sub i64 %columns, %column",
        f"  %wide = call i64 @llvm.umin.i64(i64 %columns_left, i64 {len(heights)})",
        "  %column_after = add i64 %column, %wide",
        "  %right_by_column = mul i64 %column, %column_step",
        "  %own_right = getelementptr i8, ptr %this_right, i64 %right_by_column",
        "  %result_by_column = mul i64 %column, %pitch",
        "  %own_result = getelementptr i8, ptr %this_result, i64 %result_by_column",
        f"  switch i64 %wide, label %wide1 [{others}]",
    ]
    for columns, rows in enumerate(heights, start=1):
        lines += _rows_of_tiles(columns, rows, scalar)
    lines += [
        "panel_end:",
        "  %more_columns = icmp ult i64 %column_after, %columns",
        "  br i1 %more_columns, label %panel, label %product_end",
        "product_end:",
        "  %time_after = add i64 %time, 1",
        "  %once_more = icmp ult i64 %time_after, %times",
        "  br i1 %once_more, label %product, label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _rows_of_tiles(wide: int, heights: tuple[int, ...], scalar: str) -> list[str]:
    """Return the loop over rows for tiles of so many columns."""
    shared = f"ptr %this_left, ptr %own_rows{wide}, ptr %segments, i64 %count, i64 %length"
    right = f"ptr %own_right, i64 %column_step, ptr %corner{wide}, i64 %pitch"
    corner = [f"  %corner{wide} = getelementptr {scalar}, ptr %own_result, i64 %row{wide}"]
    return rows_of_tiles(
        wide, heights, "i64", corner, f"  call void @dots_{{name}}({shared}, {right})"
    )
