"""Packing: right factors become panels of columns, a few vectors wide, term after term."""

from __future__ import annotations

from tensorframe.codegen.llvm.packed.slots import loaded
from tensorframe.codegen.llvm.spelled import spelled
from tensorframe.codegen.llvm.transposition import TRANSPOSE

# Rows of a factor that are packed at a time.
_ROWS = 8

_HEAD = """\
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

# Of factors whose rows lie in memory: some rows at a time, of which a panel has as many lines one after the other.
# Panels are a page or more apart: for one line each they would be looked up anew, and fall into few places of a cache.
ROWS = """\
  %base = udiv i64 %vectors, %panels
  %extra = urem i64 %vectors, %panels
  %last_vector = sub i64 %vectors, 1
  %before_last = mul i64 %last_vector, `LANES`
  %in_last = sub i64 %columns, %before_last
  %mask = call `MASK` @first_lanes(i64 %in_last)
  br label %next
next:
  %at = phi i64 [%start, %ready], [%after, %rows_end]
  %matrix = udiv i64 %at, %terms
  %term = urem i64 %at, %terms
  %of_matrix = sub i64 %terms, %term
  %of_range = sub i64 %stop, %at
  %most_rows = call i64 @llvm.umin.i64(i64 %of_matrix, i64 %of_range)
  %rows = call i64 @llvm.umin.i64(i64 %most_rows, i64 `ROWS_AT_ONCE`)
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
  %first_to = getelementptr i8, ptr %own_target, i64 %by_target
  br label %row
row:
  %r = phi i64 [0, %panel], [%r_after, %row_end]
  %from = phi ptr [%own_source, %panel], [%from_after, %row_end]
  %to = phi ptr [%first_to, %panel], [%to_after, %row_end]
  br label %vector
vector:
  %v = phi i64 [%first, %row], [%v_after, %vector_end]
  %v_from = getelementptr `VECTOR`, ptr %from, i64 %v
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
  br i1 %more_vectors, label %vector, label %row_end
row_end:
  %from_after = getelementptr i8, ptr %from, i64 %down
  %to_after = getelementptr i8, ptr %to, i64 %width_bytes
  %r_after = add i64 %r, 1
  %more_rows = icmp ult i64 %r_after, %rows
  br i1 %more_rows, label %row, label %panel_end
panel_end:
  %number_after = add i64 %number, 1
  %more_panels = icmp ult i64 %number_after, %panels
  br i1 %more_panels, label %panel, label %rows_end
rows_end:
  %after = add i64 %at, %rows
  %more = icmp ult i64 %after, %stop
  br i1 %more, label %next, label %exit
exit:
  ret void
}"""

# Of factors whose columns lie in memory: panel after panel, each turned.
COLUMNS = """\
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


def packing(name: str, body: str, words: dict[str, str]) -> str:
    """Return a function that packs right factors."""
    own = {
        "NAME": name,
        "TRANSPOSE": TRANSPOSE,
        "LOADED": loaded(),
        "ROWS_AT_ONCE": str(_ROWS),
    }
    return spelled(f"{_HEAD}\n{body}", own | words)
