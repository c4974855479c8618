"""Products of matrices whose right factor is packed: panels of columns, each a few vectors wide, term after term.

A tile of the result stays in registers: each term multiplies the left factor's element of each row with the vectors of
a panel (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). An element of the result is
the sum of its terms in order, each added by one multiply-add, wherever blocks and tiles begin.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.indirect_product import (
    SCALARS,
    TERMS,
    Shape,
    fused_multiply_add,
    module,
    shape_for,
)
from tensorframe.codegen.llvm.moves import TRANSPOSE, transposition
from tensorframe.codegen.llvm.target import Target
from tensorframe.dtypes import DType
from tensorframe.machine import HOST

PACK_ROWS, PACK_COLUMNS, MULTIPLY = "pack_rows", "pack_columns", "multiply_blocks"
CHAIN = "chain_blocks"

# what a call is given, in 64-bit slots: array objects, then the arrays and the numbers that kernels take
VARYING = (
    "left",  # the left factors
    "right",  # the right ones
    "packed",  # memory for the panels of these
    "result",  # where blocks are in place: there
    "scratch",  # memory of threads, behind a word with a bit for each that no thread has
    "free",  # this word at first, which packing sets
)
FIXED = (
    "row_step",  # bytes from one row of a left factor to the next
    "term_step",  # and from one term
    "terms",
    "columns",
    "places",  # address of the bytes to each right factor
    "down",  # bytes from one term of these to the next
    "across",  # and from one column
    "packed_at",  # bytes to the panels in their memory
    "scratch_at",  # and to the word of `free` in the other one
    "scratch_bytes",  # of each thread
    "gathered",  # the part of these in front of a block: `MOST_TERMS` for each row
    "in_place",  # whether blocks are made in the result; else kernels take them
    "pitch",  # bytes from one row of a block to the next
    "blocks",  # address of a record for each block: `BLOCK_WORDS`, and bytes to its part of each array
    "words",  # of such a record
    "array_count",
    "number_count",
    "inner",  # address of a word for each array: bytes to it in the thread's memory, or -1
    "kernels",  # address of records of kernels: function, range, fixed slots
    # of chains: the second right factors' panels in the memory of packed ones, and their columns; what a thread has
    "second_at",
    "second_columns",
    "weights_at",
    "divisors_at",  # 0: nothing is divided
)
BLOCK_WORDS = ("left", "right", "result", "rows", "kernel")
CHAIN_WORDS = (*BLOCK_WORDS, "second", "begin_panel", "end_panel", "begin_column", "some_columns")
# Terms that are added in one go: as many as `TERMS`, or what is left if that is not many more.
MOST_TERMS = TERMS * 3 // 2
# Most arrays and slots of a kernel: what is written for it lies on the stack.
MOST_ARRAYS, MOST_SLOTS = 64, 96


def panel_width(shape: Shape) -> int:
    """Return how many vectors a panel has at most."""
    return min(shape.vectors, 3 if shape.rows[2] > 4 else 2)


def print_packed(target: Target, layout: str, dtype: DType) -> str:
    """Return the module with the packing of right factors and the product of a block of a dtype."""
    assert target.data_offset is not None
    shape, scalar, size = shape_for(target, dtype), SCALARS[dtype], dtype.itemsize
    wide = panel_width(shape)
    tall = shape.rows[wide - 1]
    heights = [tall, *[power for power in (4, 2, 1) if power < tall]]
    words = _words(shape.lanes, scalar, size, wide, target.data_offset)
    tiles = [
        _Tile(scalar, size, shape.lanes, rows, vectors).text()
        for vectors in range(1, wide + 1)
        for rows in heights
    ]
    gathers = [_spelled(_GATHER, words | {"ROWS": str(rows)}) for rows in heights]
    return module(
        target,
        layout,
        fused_multiply_add(shape.lanes, dtype),
        _spelled(_DECLARED, words),
        *tiles,
        *gathers,
        transposition(shape.lanes, scalar, size),
        _pack(PACK_ROWS, _PACK_ROWS, words),
        _pack(PACK_COLUMNS, _PACK_COLUMNS, words),
        _block(words, heights, wide),
        _spelled(_HAVE_TAKEN, words),
        _call(_BLOCKS, BLOCK_WORDS, words),
        _call(_CHAINS, CHAIN_WORDS, words),
    )


def _words(lanes: int, scalar: str, size: int, wide: int, data: int) -> dict[str, str]:
    kind = f"v{lanes}f{8 * size}"
    return {
        "LANES": str(lanes),
        "LANES_1": str(lanes - 1),
        "VECTOR": f"<{lanes} x {scalar}>",
        "MASK": f"<{lanes} x i1>",
        "INDICES": f"<{lanes} x i64>",
        "NUMBERED": ", ".join(f"i64 {lane}" for lane in range(lanes)),
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


def _spelled(text: str, words: dict[str, str]) -> str:
    for word, spelling in words.items():
        text = text.replace(f"`{word}`", spelling)
    return text


_DECLARED = """\
declare i64 @llvm.umin.i64(i64, i64)
declare `VECTOR` @llvm.masked.load.`KIND`.p0(ptr, i32, `MASK`, `VECTOR`)
declare void @llvm.masked.store.`KIND`.p0(`VECTOR`, ptr, i32, `MASK`)

; the first `count` lanes, all of them if there are more
define internal `MASK` @first_lanes(i64 %count) alwaysinline {
  %one = insertelement `INDICES` poison, i64 %count, i64 0
  %all = shufflevector `INDICES` %one, `INDICES` poison, <`LANES` x i32> zeroinitializer
  %mask = icmp ult `INDICES` <`NUMBERED`>, %all
  ret `MASK` %mask
}

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

_PACK_HEAD = """\
define void @`NAME`(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
`LOADED`
  %source = load ptr, ptr %right_data
  %packed_from = load ptr, ptr %packed_data
  %target = getelementptr i8, ptr %packed_from, i64 %packed_at
  %is_first = icmp eq i64 %start, 0
  br i1 %is_first, label %begin, label %ready
begin:
  %scratch_from = load ptr, ptr %scratch_data
  %word = getelementptr i8, ptr %scratch_from, i64 %scratch_at
  store i64 %free, ptr %word
  br label %ready
ready:
  %whole = call {i64, i64, i64} @panel_of(i64 %columns, i64 0)
  %panels = extractvalue {i64, i64, i64} %whole, 0
  %last = sub i64 %panels, 1
  %end = call {i64, i64, i64} @panel_of(i64 %columns, i64 %last)
  %end_first = extractvalue {i64, i64, i64} %end, 1
  %end_width = extractvalue {i64, i64, i64} %end, 2
  %vectors = add i64 %end_first, %end_width
  %row_bytes = mul i64 %vectors, `WIDTH`
  %matrix_bytes = mul i64 %row_bytes, %terms"""

# Of factors whose rows lie in memory: row after row, as they come from there.
_PACK_ROWS = """\
  %base = udiv i64 %vectors, %panels
  %extra = urem i64 %vectors, %panels
  %last_vector = sub i64 %vectors, 1
  %before_last = mul i64 %last_vector, `LANES`
  %in_last = sub i64 %columns, %before_last
  %mask = call `MASK` @first_lanes(i64 %in_last)
  br label %next
next:
  %at = phi i64 [%start, %ready], [%after, %row_end]
  %matrix = udiv i64 %at, %terms
  %term = urem i64 %at, %terms
  %own_place_at = getelementptr i64, ptr %places, i64 %matrix
  %place = load i64, ptr %own_place_at
  %term_by = mul i64 %term, %down
  %by_source = add i64 %place, %term_by
  %own_source = getelementptr i8, ptr %source, i64 %by_source
  %by_matrix = mul i64 %matrix, %matrix_bytes
  %own_target = getelementptr i8, ptr %target, i64 %by_matrix
  br label %panel
panel:
  %number = phi i64 [0, %next], [%number_after, %panel_end]
  %first = phi i64 [0, %next], [%first_after, %panel_end]
  %is_wider = icmp ult i64 %number, %extra
  %one = zext i1 %is_wider to i64
  %width = add i64 %base, %one
  %first_after = add i64 %first, %width
  %first_bytes = mul i64 %first, `WIDTH`
  %by_panel = mul i64 %first_bytes, %terms
  %width_bytes = mul i64 %width, `WIDTH`
  %by_term = mul i64 %width_bytes, %term
  %by_target = add i64 %by_panel, %by_term
  %to = getelementptr i8, ptr %own_target, i64 %by_target
  br label %vector
vector:
  %v = phi i64 [%first, %panel], [%v_after, %vector_end]
  %v_from = getelementptr `VECTOR`, ptr %own_source, i64 %v
  %v_in = sub i64 %v, %first
  %v_to = getelementptr `VECTOR`, ptr %to, i64 %v_in
  %is_last = icmp eq i64 %v, %last_vector
  br i1 %is_last, label %masked, label %full
full:
  %value = load `VECTOR`, ptr %v_from, align `SIZE`
  store `VECTOR` %value, ptr %v_to, align `SIZE`
  br label %vector_end
masked:
  %some = call `VECTOR` @llvm.masked.load.`KIND`.p0(ptr %v_from, i32 `SIZE`, `MASK` %mask, `VECTOR` zeroinitializer)
  store `VECTOR` %some, ptr %v_to, align `SIZE`
  br label %vector_end
vector_end:
  %v_after = add i64 %v, 1
  %more_vectors = icmp ult i64 %v_after, %first_after
  br i1 %more_vectors, label %vector, label %panel_end
panel_end:
  %number_after = add i64 %number, 1
  %more_panels = icmp ult i64 %number_after, %panels
  br i1 %more_panels, label %panel, label %row_end
row_end:
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %exit
exit:
  ret void
}"""

# Of factors whose columns lie in memory: panel after panel, each turned.
_PACK_COLUMNS = """\
  %turning = alloca [8 x i64], align 8
  br label %next
next:
  %at = phi i64 [%start, %ready], [%after, %turn]
  %matrix = udiv i64 %at, %panels
  %number = urem i64 %at, %panels
  %own_place_at = getelementptr i64, ptr %places, i64 %matrix
  %place = load i64, ptr %own_place_at
  %panel = call {i64, i64, i64} @panel_of(i64 %columns, i64 %number)
  %first = extractvalue {i64, i64, i64} %panel, 1
  %width = extractvalue {i64, i64, i64} %panel, 2
  %column = mul i64 %first, `LANES`
  %left = sub i64 %columns, %column
  %by_column = mul i64 %column, %across
  %by_source = add i64 %place, %by_column
  %own_source = getelementptr i8, ptr %source, i64 %by_source
  %by_matrix = mul i64 %matrix, %matrix_bytes
  %first_bytes = mul i64 %first, `WIDTH`
  %by_panel = mul i64 %first_bytes, %terms
  %by_target = add i64 %by_matrix, %by_panel
  %own_target = getelementptr i8, ptr %target, i64 %by_target
  %step = mul i64 %width, `WIDTH`
  %lanes = mul i64 %width, `LANES`
  %count = call i64 @llvm.umin.i64(i64 %left, i64 %lanes)
  %is_part = icmp ult i64 %count, %lanes
  %parts = mul i64 %terms, %width
  br i1 %is_part, label %clear, label %turn
clear:
  %cleared = phi i64 [0, %next], [%cleared_after, %clear]
  %zero_at = getelementptr `VECTOR`, ptr %own_target, i64 %cleared
  store `VECTOR` zeroinitializer, ptr %zero_at, align `SIZE`
  %cleared_after = add i64 %cleared, 1
  %more_to_clear = icmp ult i64 %cleared_after, %parts
  br i1 %more_to_clear, label %clear, label %turn
turn:
  %t0 = getelementptr i64, ptr %turning, i64 0
  store ptr %own_source, ptr %t0
  %t1 = getelementptr i64, ptr %turning, i64 1
  store ptr %own_target, ptr %t1
  %t2 = getelementptr i64, ptr %turning, i64 2
  store i64 %across, ptr %t2
  %t3 = getelementptr i64, ptr %turning, i64 3
  store i64 %step, ptr %t3
  %t4 = getelementptr i64, ptr %turning, i64 4
  store i64 %terms, ptr %t4
  %t5 = getelementptr i64, ptr %turning, i64 5
  store i64 1, ptr %t5
  %t6 = getelementptr i64, ptr %turning, i64 6
  store i64 0, ptr %t6
  %t7 = getelementptr i64, ptr %turning, i64 7
  store i64 0, ptr %t7
  call void @`TRANSPOSE`(i64 0, i64 %count, ptr %turning, ptr %fixed)
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %exit
exit:
  ret void
}"""

# Rows of a left factor that lie beside each other, as a column of a tile has them: terms that are far apart come from
# the second level of cache, and would for each panel.
_GATHER = """\
define internal void @gather_`ROWS`(ptr %left, i64 %step, i64 %count, ptr %target) noinline {
entry:
  br label %next
next:
  %i = phi i64 [0, %entry], [%after, %next]
  %by = mul i64 %i, %step
  %from = getelementptr i8, ptr %left, i64 %by
  %value = load <`ROWS` x `SCALAR`>, ptr %from, align `SIZE`
  %to = getelementptr [`ROWS` x `SCALAR`], ptr %target, i64 %i
  store <`ROWS` x `SCALAR`> %value, ptr %to, align `SIZE`
  %after = add nuw i64 %i, 1
  %more = icmp ult i64 %after, %count
  br i1 %more, label %next, label %exit
exit:
  ret void
}"""


class _Tile:
    """The function that makes one tile; the last vector of its columns under a mask."""

    def __init__(self, scalar: str, size: int, lanes: int, rows: int, vectors: int) -> None:
        self._scalar, self._size, self._lanes = scalar, size, lanes
        self._rows, self._vectors = range(rows), range(vectors)
        self._kind, self._mask = f"<{lanes} x {scalar}>", f"<{lanes} x i1>"
        self._number = f"v{lanes}f{8 * size}"
        self._cells = [(row, column) for row in self._rows for column in self._vectors]

    def text(self) -> str:
        """Return the function."""
        name = f"tile_{len(self._rows)}_{len(self._vectors)}"
        parameters = (
            "ptr %left, i64 %row_step, i64 %term_step, i64 %count, ptr %right, ptr %result, "
            "i64 %pitch, i64 %more, i64 %last"
        )
        head = f"define internal void @{name}({parameters}) noinline {{"
        return "\n".join([head, *self._entry(), *self._loop(), *self._exit(), "}"])

    def _entry(self) -> list[str]:
        lines = ["entry:", f"  %mask = call {self._mask} @first_lanes(i64 %last)"]
        for row in self._rows:
            lines += [
                f"  %by{row} = mul i64 %row_step, {row}",
                f"  %left{row} = getelementptr i8, ptr %left, i64 %by{row}",
                f"  %down{row} = mul i64 %pitch, {row}",
                f"  %result{row} = getelementptr i8, ptr %result, i64 %down{row}",
            ]
        lines += [
            f"  %cell{row}_{column} = getelementptr {self._kind}, ptr %result{row}, i64 {column}"
            for row, column in self._cells
        ]
        lines += [
            "  %fresh = icmp eq i64 %more, 0",
            "  br i1 %fresh, label %begin, label %resume",
            "resume:",
        ]
        lines += [
            f"  %old{row}_{column} = {self._load(f'%cell{row}_{column}', column)}"
            for row, column in self._cells
        ]
        return [*lines, "  br label %loop", "begin:", "  br label %loop"]

    def _load(self, place: str, column: int) -> str:
        if column != self._vectors[-1]:
            return f"load {self._kind}, ptr {place}, align {self._size}"
        function = f"@llvm.masked.load.{self._number}.p0"
        masked = f"{self._mask} %mask, {self._kind} zeroinitializer"
        return f"call {self._kind} {function}(ptr {place}, i32 {self._size}, {masked})"

    def _loop(self) -> list[str]:
        kind, bytes_ = self._kind, len(self._vectors) * self._lanes * self._size
        lines = [
            "loop:",
            "  %i = phi i64 [0, %begin], [0, %resume], [%next, %loop]",
            "  %along = phi i64 [0, %begin], [0, %resume], [%further, %loop]",
            "  %from = phi ptr [%right, %begin], [%right, %resume], [%beyond, %loop]",
        ]
        for row, column in self._cells:
            cell = f"{row}_{column}"
            start = f"[zeroinitializer, %begin], [%old{cell}, %resume]"
            lines.append(f"  %sum{cell} = phi {kind} {start}, [%total{cell}, %loop]")
        for column in self._vectors:
            lines += [
                f"  %there{column} = getelementptr {kind}, ptr %from, i64 {column}",
                f"  %y{column} = load {kind}, ptr %there{column}, align {self._size}",
            ]
        for row in self._rows:
            lines += [
                f"  %here{row} = getelementptr i8, ptr %left{row}, i64 %along",
                f"  %x{row} = load {self._scalar}, ptr %here{row}, align {self._size}",
                f"  %one{row} = insertelement {kind} poison, {self._scalar} %x{row}, i64 0",
                f"  %all{row} = shufflevector {kind} %one{row}, {kind} poison, <{self._lanes} x i32> zeroinitializer",
            ]
            for column in self._vectors:
                cell = f"{row}_{column}"
                operands = f"{kind} %all{row}, {kind} %y{column}, {kind} %sum{cell}"
                lines.append(
                    f"  %total{cell} = call {kind} @llvm.fmuladd.{self._number}({operands})"
                )
        return [
            *lines,
            "  %next = add nuw i64 %i, 1",
            "  %further = add i64 %along, %term_step",
            f"  %beyond = getelementptr i8, ptr %from, i64 {bytes_}",
            "  %again = icmp ult i64 %next, %count",
            "  br i1 %again, label %loop, label %exit",
        ]

    def _exit(self) -> list[str]:
        lines = ["exit:"]
        for row, column in self._cells:
            cell = f"{row}_{column}"
            if column != self._vectors[-1]:
                lines.append(
                    f"  store {self._kind} %total{cell}, ptr %cell{cell}, align {self._size}"
                )
                continue
            operands = (
                f"{self._kind} %total{cell}, ptr %cell{cell}, i32 {self._size}, {self._mask} %mask"
            )
            lines.append(f"  call void @llvm.masked.store.{self._number}.p0({operands})")
        return [*lines, "  ret void"]


_BLOCK = """\
; One block of a result: `rows` rows of `columns` columns, a part of the terms after the other. A panel's part stays in
; the nearest cache while tiles go down the rows.
define internal void @multiply_block(ptr %left, i64 %row_step, i64 %term_step, i64 %begin, i64 %end_term, i64 %terms,
                                     ptr %right, i64 %columns, i64 %begin_panel, i64 %end_panel,
                                     ptr %result, i64 %pitch, i64 %rows, ptr %gathered) noinline {
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
  %step`H`_`W` = select i1 %is_gathered, i64 `STEP`, i64 %term_step
  call void @tile_`H`_`W`(ptr %tile_left`W`, i64 %row_step, i64 %step`H`_`W`, i64 %some, ptr %panel_right,
                          ptr %tile_result`W`, i64 %pitch, i64 %resumed, i64 %last)"""


def _block(words: dict[str, str], heights: list[int], wide: int) -> str:
    """Return the function that makes a block, from the tallest tiles to those of one row."""
    size = int(words["SIZE"])
    gather = "  call void @gather_`H`(ptr %g_from, i64 %term_step, i64 %some, ptr %g_to)"
    gathers, taken = _by_height(heights, "g", "%g_left", "gathering_end", gather, words)
    widths = []
    for width in range(1, wide + 1):
        own = words | {"W": str(width)}
        steps = {height: {"STEP": str(height * size)} for height in heights}
        tiles, heights_taken = _by_height(
            heights, f"w{width}", f"%rows_left{width}", f"wide_end{width}", _TILE, own, steps
        )
        widths.append(_spelled(_WIDTH, own | {"TILES": tiles, "TAKEN": heights_taken}))
    whole = words | {
        "GATHERS": gathers,
        "GATHERED": taken,
        "WIDTHS": "\n".join(widths),
        "OTHERS": " ".join(f"i64 {width}, label %wide{width}" for width in range(2, wide + 1)),
    }
    return _spelled(_BLOCK, whole)


def _by_height(
    heights: list[int],
    name: str,
    left: str,
    end: str,
    call: str,
    words: dict[str, str],
    steps: dict[int, dict[str, str]] | None = None,
) -> tuple[str, str]:
    """Return the branches to the tallest of the heights that `left` rows have room for, and where each comes from."""
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
        own = words | {"H": str(height)} | (steps or {}).get(height, {})
        lines += [f"do_{label}:", _spelled(call, own), f"  br label %{end}"]
        if lower:
            lines.append(f"below_{label}:")
    taken = ", ".join(f"[{height}, %do_{name}_{height}]" for height in heights)
    return "\n".join(lines), taken


_HAVE_TAKEN = """\
declare i64 @llvm.cttz.i64(i64, i1)

; The lowest bit of a word, which nobody else has until it is set again.
define internal i64 @claim(ptr %word) noinline {
entry:
  br label %look
look:
  %known = load atomic i64, ptr %word monotonic, align 8
  %none = icmp eq i64 %known, 0
  br i1 %none, label %look, label %try
try:
  %lower = sub i64 %known, 1
  %others = and i64 %known, %lower
  %pair = cmpxchg ptr %word, i64 %known, i64 %others acquire monotonic
  %is_mine = extractvalue {i64, i1} %pair, 1
  br i1 %is_mine, label %mine, label %look
mine:
  %bit = xor i64 %known, %others
  ret i64 %bit
}

; Call a kernel with parts of arrays, as if these were arrays: an object's address of its memory is all that it reads.
define internal void @have_taken(ptr %own, ptr %arrays, i64 %array_count, ptr %places, ptr %inner, ptr %numbers,
                                 i64 %number_count, ptr %kernels, i64 %kernel) noinline {
entry:
  %fakes = alloca [`MOST_ARRAYS` x [`FAKE` x i8]], align 16
  %slots = alloca [`MOST_SLOTS` x i64], align 16
  br label %array
array:
  %a = phi i64 [0, %entry], [%a_after, %array]
  %base_at = getelementptr i64, ptr %arrays, i64 %a
  %object = load ptr, ptr %base_at
  %base_in = getelementptr i8, ptr %object, i64 `DATA`
  %base = load ptr, ptr %base_in
  %offset_at = getelementptr i64, ptr %places, i64 %a
  %offset = load i64, ptr %offset_at
  %part = getelementptr i8, ptr %base, i64 %offset
  %inner_at = getelementptr i64, ptr %inner, i64 %a
  %inner_by = load i64, ptr %inner_at
  %inside = getelementptr i8, ptr %own, i64 %inner_by
  %is_inside = icmp sge i64 %inner_by, 0
  %data = select i1 %is_inside, ptr %inside, ptr %part
  %fake = getelementptr [`FAKE` x i8], ptr %fakes, i64 %a
  %data_at = getelementptr i8, ptr %fake, i64 `DATA`
  store ptr %data, ptr %data_at
  %slot_at = getelementptr i64, ptr %slots, i64 %a
  store ptr %fake, ptr %slot_at
  %a_after = add i64 %a, 1
  %more_arrays = icmp ult i64 %a_after, %array_count
  br i1 %more_arrays, label %array, label %numbered
numbered:
  %some_numbers = icmp ugt i64 %number_count, 0
  br i1 %some_numbers, label %one, label %called
one:
  %n = phi i64 [0, %numbered], [%n_after, %one]
  %number_at = getelementptr i64, ptr %numbers, i64 %n
  %value = load i64, ptr %number_at
  %n_index = add i64 %n, %array_count
  %n_slot = getelementptr i64, ptr %slots, i64 %n_index
  store i64 %value, ptr %n_slot
  %n_after = add i64 %n, 1
  %more_numbers = icmp ult i64 %n_after, %number_count
  br i1 %more_numbers, label %one, label %called
called:
  %kernel_by = mul i64 %kernel, 3
  %kernel_at = getelementptr i64, ptr %kernels, i64 %kernel_by
  %function = load ptr, ptr %kernel_at
  %total_at = getelementptr i64, ptr %kernel_at, i64 1
  %total = load i64, ptr %total_at
  %own_fixed_at = getelementptr i64, ptr %kernel_at, i64 2
  %own_fixed = load ptr, ptr %own_fixed_at
  call void %function(i64 0, i64 %total, ptr %slots, ptr %own_fixed)
  ret void
}"""

_CHAINS = """\
; Blocks of rows of a product, what a kernel makes of them, and the product of that with another factor; divided by a
; number for each row, if it is to be. Columns that a block does not need are left out of both.
define void @chain_blocks(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
`LOADED`
  %left = load ptr, ptr %left_data
  %packed_from = load ptr, ptr %packed_data
  %right = getelementptr i8, ptr %packed_from, i64 %packed_at
  %second = getelementptr i8, ptr %packed_from, i64 %second_at
  %result = load ptr, ptr %result_data
  %scratch_from = load ptr, ptr %scratch_data
  %word = getelementptr i8, ptr %scratch_from, i64 %scratch_at
  %scratch = getelementptr i8, ptr %word, i64 `LINE`
  %arrays = getelementptr i64, ptr %varying, i64 `FIRST_ARRAY`
  %numbers = getelementptr i64, ptr %arrays, i64 %array_count
  %bit = call i64 @claim(ptr %word)
  %number = call i64 @llvm.cttz.i64(i64 %bit, i1 true)
  %scratch_by = mul i64 %number, %scratch_bytes
  %own = getelementptr i8, ptr %scratch, i64 %scratch_by
  %scores = getelementptr i8, ptr %own, i64 %gathered
  %weights = getelementptr i8, ptr %own, i64 %weights_at
  %divisors = getelementptr i8, ptr %own, i64 %divisors_at
  %second_whole = call {i64, i64, i64} @panel_of(i64 %second_columns, i64 0)
  %second_panels = extractvalue {i64, i64, i64} %second_whole, 0
  br label %next
next:
  %at = phi i64 [%start, %entry], [%after, %finished]
  %record_by = mul i64 %at, %words
  %record = getelementptr i64, ptr %blocks, i64 %record_by
`RECORD`
  %own_left = getelementptr i8, ptr %left, i64 %to_left
  %own_right = getelementptr i8, ptr %right, i64 %to_right
  %own_second = getelementptr i8, ptr %second, i64 %to_second
  %own_result = getelementptr i8, ptr %result, i64 %to_result
  %score_pitch = mul i64 %some_columns, `SIZE`
  call void @multiply_block(ptr %own_left, i64 %row_step, i64 %term_step, i64 0, i64 %terms, i64 %terms,
                            ptr %own_right, i64 %columns, i64 %begin_panel, i64 %end_panel,
                            ptr %scores, i64 %score_pitch, i64 %rows, ptr %own)
  %own_places = getelementptr i64, ptr %record, i64 `RECORD_WORDS`
  call void @have_taken(ptr %own, ptr %arrays, i64 %array_count, ptr %own_places, ptr %inner, ptr %numbers,
                        i64 %number_count, ptr %kernels, i64 %kernel)
  %end_column = add i64 %begin_column, %some_columns
  call void @multiply_block(ptr %weights, i64 %score_pitch, i64 `SIZE`, i64 %begin_column, i64 %end_column,
                            i64 %columns, ptr %own_second, i64 %second_columns, i64 0, i64 %second_panels,
                            ptr %own_result, i64 %pitch, i64 %rows, ptr %own)
  %is_divided = icmp ne i64 %divisors_at, 0
  br i1 %is_divided, label %row, label %finished
row:
  %r = phi i64 [0, %next], [%r_after, %row_end]
  %divisor_at = getelementptr `SCALAR`, ptr %divisors, i64 %r
  %divisor = load `SCALAR`, ptr %divisor_at, align `SIZE`
  %one_divisor = insertelement `VECTOR` poison, `SCALAR` %divisor, i64 0
  %all_divisors = shufflevector `VECTOR` %one_divisor, `VECTOR` poison, <`LANES` x i32> zeroinitializer
  %row_by = mul i64 %r, %pitch
  %row_at = getelementptr i8, ptr %own_result, i64 %row_by
  br label %vector
vector:
  %c = phi i64 [0, %row], [%c_after, %vector]
  %c_left = sub i64 %second_columns, %c
  %mask = call `MASK` @first_lanes(i64 %c_left)
  %c_at = getelementptr `SCALAR`, ptr %row_at, i64 %c
  %numerator = call `VECTOR` @llvm.masked.load.`KIND`.p0(ptr %c_at, i32 `SIZE`, `MASK` %mask, `VECTOR` zeroinitializer)
  %quotient = fdiv `VECTOR` %numerator, %all_divisors
  call void @llvm.masked.store.`KIND`.p0(`VECTOR` %quotient, ptr %c_at, i32 `SIZE`, `MASK` %mask)
  %c_after = add i64 %c, `LANES`
  %more_columns = icmp ult i64 %c_after, %second_columns
  br i1 %more_columns, label %vector, label %row_end
row_end:
  %r_after = add i64 %r, 1
  %more_rows = icmp ult i64 %r_after, %rows
  br i1 %more_rows, label %row, label %finished
finished:
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %exit
exit:
  %given = atomicrmw or ptr %word, i64 %bit release
  ret void
}"""

_BLOCKS = """\
; Blocks `start` to before `stop`, each in memory that no other thread has, and what a kernel makes of them.
define void @multiply_blocks(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
`LOADED`
  %left = load ptr, ptr %left_data
  %packed_from = load ptr, ptr %packed_data
  %right = getelementptr i8, ptr %packed_from, i64 %packed_at
  %result = load ptr, ptr %result_data
  %scratch_from = load ptr, ptr %scratch_data
  %word = getelementptr i8, ptr %scratch_from, i64 %scratch_at
  %scratch = getelementptr i8, ptr %word, i64 `LINE`
  %arrays = getelementptr i64, ptr %varying, i64 `FIRST_ARRAY`
  %numbers = getelementptr i64, ptr %arrays, i64 %array_count
  %bit = call i64 @claim(ptr %word)
  %number = call i64 @llvm.cttz.i64(i64 %bit, i1 true)
  %scratch_by = mul i64 %number, %scratch_bytes
  %own = getelementptr i8, ptr %scratch, i64 %scratch_by
  %own_block = getelementptr i8, ptr %own, i64 %gathered
  %stays = icmp eq i64 %in_place, 0
  %whole = call {i64, i64, i64} @panel_of(i64 %columns, i64 0)
  %panels = extractvalue {i64, i64, i64} %whole, 0
  br label %next
next:
  %at = phi i64 [%start, %entry], [%after, %finished]
  %record_by = mul i64 %at, %words
  %record = getelementptr i64, ptr %blocks, i64 %record_by
`RECORD`
  %own_left = getelementptr i8, ptr %left, i64 %to_left
  %own_right = getelementptr i8, ptr %right, i64 %to_right
  %there = getelementptr i8, ptr %result, i64 %to_result
  %block = select i1 %stays, ptr %own_block, ptr %there
  call void @multiply_block(ptr %own_left, i64 %row_step, i64 %term_step, i64 0, i64 %terms, i64 %terms,
                            ptr %own_right, i64 %columns, i64 0, i64 %panels,
                            ptr %block, i64 %pitch, i64 %rows, ptr %own)
  br i1 %stays, label %prepare, label %finished
prepare:
  %own_places = getelementptr i64, ptr %record, i64 `RECORD_WORDS`
  call void @have_taken(ptr %own, ptr %arrays, i64 %array_count, ptr %own_places, ptr %inner, ptr %numbers,
                        i64 %number_count, ptr %kernels, i64 %kernel)
  br label %finished
finished:
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %exit
exit:
  %given = atomicrmw or ptr %word, i64 %bit release
  ret void
}"""

_POINTERS = frozenset(["left", "right", "packed", "result", "scratch", "second"])
_ADDRESSES = frozenset(["places", "blocks", "kernels", "inner"])


def _pack(name: str, body: str, words: dict[str, str]) -> str:
    """Return a function that packs right factors."""
    own = {"NAME": name, "TRANSPOSE": TRANSPOSE, "LOADED": _loaded()}
    return _spelled(f"{_PACK_HEAD}\n{body}", own | words)


def _loaded() -> str:
    """Return the lines that give slots their names; of arrays, `%..._data` is where the address of their memory is."""
    lines = []
    for source, names in (("varying", VARYING), ("fixed", FIXED)):
        for number, name in enumerate(names):
            place = f"  %{name}_slot = getelementptr i64, ptr %{source}, i64 {number}"
            if name in _POINTERS:
                lines += [
                    place,
                    f"  %{name}_object = load ptr, ptr %{name}_slot",
                    f"  %{name}_data = getelementptr i8, ptr %{name}_object, i64 `DATA`",
                ]
            else:
                kind = "ptr" if name in _ADDRESSES else "i64"
                lines += [place, f"  %{name} = load {kind}, ptr %{name}_slot"]
    return "\n".join(lines)


def _call(text: str, record: tuple[str, ...], words: dict[str, str]) -> str:
    """Return a function that makes blocks, which have such records."""
    lines = []
    for number, name in enumerate(record):
        found = f"to_{name}" if name in _POINTERS else name
        lines += [
            f"  %{found}_word = getelementptr i64, ptr %record, i64 {number}",
            f"  %{found} = load i64, ptr %{found}_word",
        ]
    own = {
        "LOADED": _loaded(),
        "RECORD": "\n".join(lines),
        "RECORD_WORDS": str(len(record)),
        "FIRST_ARRAY": str(len(VARYING)),
    }
    return _spelled(text, own | words)
