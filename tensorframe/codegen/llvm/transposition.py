"""Transposition: the function that writes rows of a matrix as columns of another one, in squares of vectors."""

from __future__ import annotations

from tensorframe.codegen.llvm.loops import named_slots

TRANSPOSE = "transpose"

# what a call is given: where both matrices are, bytes between rows of both, columns of the first; how many matrices
# there are, and how many bytes on the next one is, and the next other one
_SLOTS = ("first", "first_target", "down", "across", "columns", "times", "on", "target_on")


def transposition(lanes: int, scalar: str, size: int) -> str:
    """Return the function that writes rows `start` to `stop` of matrices as columns of other ones."""
    lines = [
        f"define void @{TRANSPOSE}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{",
        "entry:",
        *named_slots(_SLOTS, pointers=2),
        "  br label %matrix",
        "matrix:",
        "  %time = phi i64 [0, %entry], [%time_after, %matrix_end]",
        "  %by = mul i64 %time, %on",
        "  %source = getelementptr i8, ptr %first, i64 %by",
        "  %by_target = mul i64 %time, %target_on",
        "  %target = getelementptr i8, ptr %first_target, i64 %by_target",
        "  br label %columns_begin",
        *_next_square(lanes, size),
        *_either_square(lanes, scalar, size),
        "rows_end:",
        "  %more_rows = icmp ult i64 %row_after, %stop",
        "  br i1 %more_rows, label %rows, label %columns_end",
        "columns_end:",
        "  %more_columns = icmp ult i64 %column_after, %columns",
        "  br i1 %more_columns, label %columns_begin, label %matrix_end",
        "matrix_end:",
        "  %time_after = add i64 %time, 1",
        "  %more_times = icmp ult i64 %time_after, %times",
        "  br i1 %more_times, label %matrix, label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _next_square(lanes: int, size: int) -> list[str]:
    """Return the beginnings of the loops over columns and rows: where a square is, and where it goes."""
    return [
        "columns_begin:",
        "  %column = phi i64 [0, %matrix], [%column_after, %columns_end]",
        "  %rest = sub i64 %columns, %column",
        f"  %is_narrow = icmp ult i64 %rest, {lanes}",
        f"  %width = select i1 %is_narrow, i64 %rest, i64 {lanes}",
        "  %column_after = add i64 %column, %width",
        "  br label %rows",
        "rows:",
        "  %row = phi i64 [%start, %columns_begin], [%row_after, %rows_end]",
        "  %left = sub i64 %stop, %row",
        f"  %is_short = icmp ult i64 %left, {lanes}",
        f"  %height = select i1 %is_short, i64 %left, i64 {lanes}",
        "  %row_after = add i64 %row, %height",
        "  %row_offset = mul i64 %row, %down",
        f"  %column_offset = mul i64 %column, {size}",
        "  %source_offset = add i64 %row_offset, %column_offset",
        "  %own_source = getelementptr i8, ptr %source, i64 %source_offset",
        "  %target_row = mul i64 %column, %across",
        f"  %target_column = mul i64 %row, {size}",
        "  %target_offset = add i64 %target_row, %target_column",
        "  %own_target = getelementptr i8, ptr %target, i64 %target_offset",
    ]


def _either_square(lanes: int, scalar: str, size: int) -> list[str]:
    """Return the lines for a whole square, and for a part of one at an edge."""
    return [
        "  %is_part = or i1 %is_short, %is_narrow",
        "  br i1 %is_part, label %part, label %whole",
        "whole:",
        *_square("whole", lanes, scalar, size),
        "  br label %rows_end",
        # rows and columns that are not there are others once more, and lanes that are not there masked
        "part:",
        f"  %columns_mask = call <{lanes} x i1> @first_lanes(i64 %width)",
        f"  %rows_mask = call <{lanes} x i1> @first_lanes(i64 %height)",
        "  %last_row = sub i64 %height, 1",
        "  %last_column = sub i64 %width, 1",
        *_square("part", lanes, scalar, size),
        "  br label %rows_end",
    ]


def _square(name: str, lanes: int, scalar: str, size: int) -> list[str]:
    """Return the lines that transpose a square of vectors: a `whole` one, or a `part` of one."""
    vector, mask = f"<{lanes} x {scalar}>", f"<{lanes} x i1>"
    number, is_part = f"v{lanes}f{8 * size}", name == "part"
    lines: list[str] = []
    rows: list[str] = []
    for row in range(lanes):
        value, place = f"%{name}0_{row}", f"%{name}_in{row}"
        lines += _place(f"{name}_row{row}", row, "last_row" if is_part else None)
        lines += [
            f"  %{name}_in_offset{row} = mul i64 %down, %{name}_row{row}",
            f"  {place} = getelementptr i8, ptr %own_source, i64 %{name}_in_offset{row}",
            f"  {value} = call {vector} @llvm.masked.load.{number}.p0(ptr {place}, i32 {size}, {mask} %columns_mask,"
            f" {vector} zeroinitializer)"
            if is_part
            else f"  {value} = load {vector}, ptr {place}, align {size}",
        ]
        rows.append(value)
    turning, rows = _turned(rows, name, lanes, vector)
    lines += turning
    masked = f"@llvm.masked.store.{number}.p0"
    # the last ones first: what is there is written after what is not
    for row in reversed(range(lanes)):
        place = f"%{name}_out{row}"
        lines += _place(f"{name}_column{row}", row, "last_column" if is_part else None)
        lines += [
            f"  %{name}_out_offset{row} = mul i64 %across, %{name}_column{row}",
            f"  {place} = getelementptr i8, ptr %own_target, i64 %{name}_out_offset{row}",
            f"  call void {masked}({vector} {rows[row]}, ptr {place}, i32 {size}, {mask} %rows_mask)"
            if is_part
            else f"  store {vector} {rows[row]}, ptr {place}, align {size}",
        ]
    return lines


def _turned(rows: list[str], name: str, lanes: int, vector: str) -> tuple[list[str], list[str]]:
    """Return the lines that turn a square of registers, and what its columns are called."""
    lines: list[str] = []
    step, stage = 1, 1
    while step < lanes:
        after = list(rows)
        for low in range(lanes):
            if low & step:
                continue
            high = low | step
            # elements whose place has the bit of this stage change sides
            first = [lane if not lane & step else lanes + (lane ^ step) for lane in range(lanes)]
            second = [(lane | step) if not lane & step else lanes + lane for lane in range(lanes)]
            for row, picked in ((low, first), (high, second)):
                value = f"%{name}{stage}_{row}"
                listed = ", ".join(f"i32 {entry}" for entry in picked)
                pair = f"{vector} {rows[low]}, {vector} {rows[high]}"
                lines.append(f"  {value} = shufflevector {pair}, <{lanes} x i32> <{listed}>")
                after[row] = value
        rows, step, stage = after, 2 * step, stage + 1
    return lines, rows


def _place(name: str, number: int, last: str | None) -> list[str]:
    """Return the line for a number, or the last one if that is less."""
    if last is None:
        return [f"  %{name} = add i64 {number}, 0"]
    return [f"  %{name} = call i64 @llvm.umin.i64(i64 {number}, i64 %{last})"]
