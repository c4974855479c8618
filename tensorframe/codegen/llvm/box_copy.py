"""Copies of boxes: elements of four axes, with any strides, go to a box of other strides."""

from __future__ import annotations

from tensorframe.codegen.llvm.loops import named_slots

COPY = "copy_box"

# what a call is given: where the box and its copy are, sizes of its axes but the first, and bytes between elements
# along each axis, in the box and in the copy
_SLOTS = (
    "source",
    "target",
    "size1",
    "size2",
    "size3",
    *[f"from{axis}" for axis in range(4)],
    *[f"to{axis}" for axis in range(4)],
)
# a row's elements, where the loops over the other axes are
_SOURCE, _TARGET = "%at_from2", "%at_to2"


def box_copy(lanes: int, scalar: str, size: int) -> str:
    """Return the function that copies a box of four axes, of which `start` to `stop` is the first."""
    lines = [
        f"define void @{COPY}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{",
        "entry:",
        *named_slots(_SLOTS, pointers=2),
        *_ways(lanes, size),
        *_begin_axes(),
        "  br i1 %on_vectors, label %vectors, label %others",
        *_by_vectors(lanes, scalar, size),
        "others:",
        "  br i1 %by_two, label %pairs, label %fewer",
        "fewer:",
        "  br i1 %is_masked, label %masked, label %elements",
        *_masked(lanes, scalar, size),
        *_every_other(lanes, scalar, size),
        *_one_by_one(scalar, size),
        *_end_axes(),
    ]
    return "\n".join([*lines, "exit:", "  ret void", "}"])


def _ways(lanes: int, size: int) -> list[str]:
    """Return the conditions of the ways in which rows of the last axis are copied."""
    return [
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


def _begin_axes() -> list[str]:
    """Return the beginnings of the loops over the first three axes."""
    lines: list[str] = []
    outside, source, target = "entry", "%source", "%target"
    for axis in range(3):
        first = "0" if axis else "%start"
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
    return lines


def _by_vectors(lanes: int, scalar: str, size: int) -> list[str]:
    """Return the loop over vectors, where elements lie side by side in both boxes."""
    vector = f"<{lanes} x {scalar}>"
    return [
        # the last vector overlaps the one before
        "vectors:",
        "  %v = phi i64 [0, %axis2], [%v_after, %vectors]",
        f"  %offset = mul i64 %v, {size}",
        f"  %v_from = getelementptr i8, ptr {_SOURCE}, i64 %offset",
        f"  %whole = load {vector}, ptr %v_from, align {size}",
        f"  %v_to = getelementptr i8, ptr {_TARGET}, i64 %offset",
        f"  store {vector} %whole, ptr %v_to, align {size}",
        f"  %v_next = add i64 %v, {lanes}",
        "  %v_after = call i64 @llvm.umin.i64(i64 %v_next, i64 %last)",
        "  %v_done = icmp eq i64 %v, %last",
        "  br i1 %v_done, label %axis2_end, label %vectors",
    ]


def _masked(lanes: int, scalar: str, size: int) -> list[str]:
    """Return the copy of a row that is shorter than a vector."""
    vector = f"<{lanes} x {scalar}>"
    mask, lanes_of = f"<{lanes} x i1>", f"v{lanes}f{8 * size}"
    return [
        "masked:",
        (
            f"  %few = call {vector} @llvm.masked.load.{lanes_of}.p0(ptr {_SOURCE}, i32 {size}, {mask} %mask,"
            f" {vector} zeroinitializer)"
        ),
        f"  call void @llvm.masked.store.{lanes_of}.p0({vector} %few, ptr {_TARGET}, i32 {size}, {mask} %mask)",
        "  br label %axis2_end",
    ]


def _every_other(lanes: int, scalar: str, size: int) -> list[str]:
    """Return the loop that packs every other element."""
    vector = f"<{lanes} x {scalar}>"
    evens = ", ".join(f"i32 {2 * lane}" for lane in range(lanes))
    return [
        # every other element: the last ones are left, since the vectors would read beyond them
        "pairs:",
        "  %p = phi i64 [0, %others], [%p_after, %pairs]",
        f"  %p_offset = mul i64 %p, {2 * size}",
        f"  %p_from = getelementptr i8, ptr {_SOURCE}, i64 %p_offset",
        f"  %low = load {vector}, ptr %p_from, align {size}",
        f"  %p_high = getelementptr {vector}, ptr %p_from, i64 1",
        f"  %high = load {vector}, ptr %p_high, align {size}",
        f"  %even = shufflevector {vector} %low, {vector} %high, <{lanes} x i32> <{evens}>",
        f"  %p_to = getelementptr {scalar}, ptr {_TARGET}, i64 %p",
        f"  store {vector} %even, ptr %p_to, align {size}",
        f"  %p_after = add i64 %p, {lanes}",
        "  %p_more = icmp ult i64 %p_after, %last",
        "  br i1 %p_more, label %pairs, label %elements",
    ]


def _one_by_one(scalar: str, size: int) -> list[str]:
    """Return the loop over elements, or those that are left."""
    return [
        "elements:",
        "  %e_first = phi i64 [0, %fewer], [%p_after, %pairs]",
        "  %e_by_from = mul i64 %e_first, %from3",
        f"  %e_from_first = getelementptr i8, ptr {_SOURCE}, i64 %e_by_from",
        "  %e_by_to = mul i64 %e_first, %to3",
        f"  %e_to_first = getelementptr i8, ptr {_TARGET}, i64 %e_by_to",
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


def _end_axes() -> list[str]:
    """Return the ends of the loops over the first three axes."""
    lines: list[str] = []
    for axis in reversed(range(3)):
        stop = "%stop" if axis == 0 else f"%size{axis}"
        after = "exit" if axis == 0 else f"axis{axis - 1}_end"
        lines += [
            f"axis{axis}_end:",
            f"  %i{axis}_after = add i64 %i{axis}, 1",
            f"  %i{axis}_more = icmp ult i64 %i{axis}_after, {stop}",
            f"  br i1 %i{axis}_more, label %axis{axis}, label %{after}",
        ]
    return lines
