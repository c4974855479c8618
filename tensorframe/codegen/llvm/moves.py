"""Functions that move elements: a matrix to its transpose, in squares of vectors, and a box to one of other strides."""

from __future__ import annotations

TRANSPOSE, COPY = "transpose", "copy_box"


def transposition(lanes: int, scalar: str, size: int) -> str:
    """Return the function that writes rows `start` to `stop` of a matrix as columns of another one.

    Slots: address of the matrix, of the other one, bytes between rows of both, columns; how many matrices there are,
    and how many bytes on the next one is, and the next other one.
    """
    names = ("first", "first_target", "down", "across", "columns", "times", "on", "target_on")
    lines = [
        f"define void @{TRANSPOSE}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{",
        "entry:",
    ]
    for number, name in enumerate(names):
        kind = "ptr" if number < 2 else "i64"
        lines += [
            f"  %slot_{name} = getelementptr i64, ptr %varying, i64 {number}",
            f"  %{name} = load {kind}, ptr %slot_{name}",
        ]
    lines += [
        "  br label %matrix",
        "matrix:",
        "  %time = phi i64 [0, %entry], [%time_after, %matrix_end]",
        "  %by = mul i64 %time, %on",
        "  %source = getelementptr i8, ptr %first, i64 %by",
        "  %by_target = mul i64 %time, %target_on",
        "  %target = getelementptr i8, ptr %first_target, i64 %by_target",
        "  br label %columns_begin",
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


def masks(lanes: int, scalar: str, size: int) -> str:
    """Return the function for a mask of the first lanes, all of them if there are fewer, and what it is for."""
    vector, mask, numbers = f"<{lanes} x {scalar}>", f"<{lanes} x i1>", f"<{lanes} x i64>"
    number = f"v{lanes}f{8 * size}"
    listed = ", ".join(f"i64 {lane}" for lane in range(lanes))
    return f"""\
declare {vector} @llvm.masked.load.{number}.p0(ptr, i32, {mask}, {vector})
declare void @llvm.masked.store.{number}.p0({vector}, ptr, i32, {mask})

define internal {mask} @first_lanes(i64 %count) alwaysinline {{
  %one = insertelement {numbers} poison, i64 %count, i64 0
  %all = shufflevector {numbers} %one, {numbers} poison, <{lanes} x i32> zeroinitializer
  %mask = icmp ult {numbers} <{listed}>, %all
  ret {mask} %mask
}}"""


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


def box_copy(lanes: int, scalar: str, size: int) -> str:
    """Return the function that copies a box of four axes, of which `start` to `stop` is the first.

    Slots: addresses of the box and of its copy, sizes of the other axes, bytes between elements along each of the four
    in the box, and in the copy.
    """
    names = (
        "source",
        "target",
        "size1",
        "size2",
        "size3",
        *[f"from{axis}" for axis in range(4)],
        *[f"to{axis}" for axis in range(4)],
    )
    vector = f"<{lanes} x {scalar}>"
    lines = [f"define void @{COPY}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{", "entry:"]
    for number, name in enumerate(names):
        kind = "ptr" if number < 2 else "i64"
        lines += [
            f"  %slot_{name} = getelementptr i64, ptr %varying, i64 {number}",
            f"  %{name} = load {kind}, ptr %slot_{name}",
        ]
    lines += [
        f"  %dense_from = icmp eq i64 %from3, {size}",
        f"  %dense_to = icmp eq i64 %to3, {size}",
        f"  %long = icmp uge i64 %size3, {lanes}",
        "  %both = and i1 %dense_from, %dense_to",
        "  %on_vectors = and i1 %both, %long",
        f"  %is_other = icmp eq i64 %from3, {2 * size}",
        "  %other_dense = and i1 %is_other, %dense_to",
        f"  %longer = icmp ugt i64 %size3, {lanes}",
        "  %by_two = and i1 %other_dense, %longer",
        f"  %last = sub i64 %size3, {lanes}",
        f"  %short = icmp ult i64 %size3, {lanes}",
        "  %is_masked = and i1 %both, %short",
        f"  %mask = call <{lanes} x i1> @first_lanes(i64 %size3)",
    ]
    mask, lanes_of = f"<{lanes} x i1>", f"v{lanes}f{8 * size}"
    evens = ", ".join(f"i32 {2 * lane}" for lane in range(lanes))
    outside, source, target = "entry", "%source", "%target"
    for axis in range(3):
        first, stop = ("%start", "%stop") if axis == 0 else ("0", f"%size{axis}")
        lines += [
            f"  br label %axis{axis}",
            f"axis{axis}:",
            f"  %i{axis} = phi i64 [{first}, %{outside}], [%i{axis}_after, %axis{axis}_end]",
            f"  %by_from{axis} = mul i64 %i{axis}, %from{axis}",
            f"  %at_from{axis} = getelementptr i8, ptr {source}, i64 %by_from{axis}",
            f"  %by_to{axis} = mul i64 %i{axis}, %to{axis}",
            f"  %at_to{axis} = getelementptr i8, ptr {target}, i64 %by_to{axis}",
        ]
        outside, source, target = f"axis{axis}", f"%at_from{axis}", f"%at_to{axis}"
    lines += [
        "  br i1 %on_vectors, label %vectors, label %others",
        # the last vector overlaps the one before
        "vectors:",
        "  %v = phi i64 [0, %axis2], [%v_after, %vectors]",
        f"  %offset = mul i64 %v, {size}",
        f"  %v_from = getelementptr i8, ptr {source}, i64 %offset",
        f"  %whole = load {vector}, ptr %v_from, align {size}",
        f"  %v_to = getelementptr i8, ptr {target}, i64 %offset",
        f"  store {vector} %whole, ptr %v_to, align {size}",
        f"  %v_next = add i64 %v, {lanes}",
        "  %v_after = call i64 @llvm.umin.i64(i64 %v_next, i64 %last)",
        "  %v_done = icmp eq i64 %v, %last",
        "  br i1 %v_done, label %axis2_end, label %vectors",
        "others:",
        "  br i1 %by_two, label %pairs, label %fewer",
        "fewer:",
        "  br i1 %is_masked, label %masked, label %elements",
        "masked:",
        (
            f"  %few = call {vector} @llvm.masked.load.{lanes_of}.p0(ptr {source}, i32 {size}, {mask} %mask,"
            f" {vector} zeroinitializer)"
        ),
        f"  call void @llvm.masked.store.{lanes_of}.p0({vector} %few, ptr {target}, i32 {size}, {mask} %mask)",
        "  br label %axis2_end",
        # every other element: the last ones are left, since the vectors would read beyond them
        "pairs:",
        "  %p = phi i64 [0, %others], [%p_after, %pairs]",
        f"  %p_offset = mul i64 %p, {2 * size}",
        f"  %p_from = getelementptr i8, ptr {source}, i64 %p_offset",
        f"  %low = load {vector}, ptr %p_from, align {size}",
        f"  %p_high = getelementptr {vector}, ptr %p_from, i64 1",
        f"  %high = load {vector}, ptr %p_high, align {size}",
        f"  %even = shufflevector {vector} %low, {vector} %high, <{lanes} x i32> <{evens}>",
        f"  %p_to = getelementptr {scalar}, ptr {target}, i64 %p",
        f"  store {vector} %even, ptr %p_to, align {size}",
        f"  %p_after = add i64 %p, {lanes}",
        "  %p_more = icmp ult i64 %p_after, %last",
        "  br i1 %p_more, label %pairs, label %elements",
        "elements:",
        "  %e_first = phi i64 [0, %fewer], [%p_after, %pairs]",
        "  %e_by_from = mul i64 %e_first, %from3",
        f"  %e_from_first = getelementptr i8, ptr {source}, i64 %e_by_from",
        "  %e_by_to = mul i64 %e_first, %to3",
        f"  %e_to_first = getelementptr i8, ptr {target}, i64 %e_by_to",
        "  br label %each",
        "each:",
        "  %e = phi i64 [%e_first, %elements], [%e_after, %each]",
        "  %e_from = phi ptr [%e_from_first, %elements], [%e_from_after, %each]",
        "  %e_to = phi ptr [%e_to_first, %elements], [%e_to_after, %each]",
        f"  %one = load {scalar}, ptr %e_from, align {size}",
        f"  store {scalar} %one, ptr %e_to, align {size}",
        "  %e_from_after = getelementptr i8, ptr %e_from, i64 %from3",
        "  %e_to_after = getelementptr i8, ptr %e_to, i64 %to3",
        "  %e_after = add i64 %e, 1",
        "  %e_more = icmp ult i64 %e_after, %size3",
        "  br i1 %e_more, label %each, label %axis2_end",
    ]
    for axis in reversed(range(3)):
        stop = "%stop" if axis == 0 else f"%size{axis}"
        after = "exit" if axis == 0 else f"axis{axis - 1}_end"
        lines += [
            f"axis{axis}_end:",
            f"  %i{axis}_after = add i64 %i{axis}, 1",
            f"  %i{axis}_more = icmp ult i64 %i{axis}_after, {stop}",
            f"  br i1 %i{axis}_more, label %axis{axis}, label %{after}",
        ]
    return "\n".join([*lines, "exit:", "  ret void", "}"])
