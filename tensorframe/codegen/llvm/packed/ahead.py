"""Software prefetch in tiles: now and then, while they multiply, a line that their thread needs soon.

What lies far apart, or begins anew with each block, no processor foresees: a tile would wait for it. A block has a list
of spans, each a place, bytes from one line to the next, and lines; a tile takes some of these, and the list goes on
where it stopped. Behind the last span is one without a step.
"""

from __future__ import annotations

from tensorframe.codegen.llvm.packed.slots import MOST_ARRAYS

# Lines across the columns of a left factor that are asked for, and what else a list has: rows of the result, its end.
_MOST_LINES, _OTHERS = 8, 2

_BYTES = 8 * (2 + 3 * (MOST_ARRAYS + _MOST_LINES + _OTHERS))

# the lists, on the stack: which span is next, how many there are, then these
SPANS = f"%asked = alloca [{_BYTES} x i8], align 16"

DECLARED = """\
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.umin.i64(i64, i64)

define internal void @ask_for(ptr %asked, ptr %place, i64 %step, i64 %lines) noinline {
  %count_at = getelementptr i64, ptr %asked, i64 1
  %count = load i64, ptr %count_at
  %some = icmp ugt i64 %lines, 0
  %one = zext i1 %some to i64
  %after = add i64 %count, %one
  store i64 %after, ptr %count_at
  %words = mul i64 %count, 3
  %first = add i64 %words, 2
  %span = getelementptr i64, ptr %asked, i64 %first
  store ptr %place, ptr %span
  %step_at = getelementptr i64, ptr %span, i64 1
  store i64 %step, ptr %step_at
  %lines_at = getelementptr i64, ptr %span, i64 2
  store i64 %lines, ptr %lines_at
  ret void
}

; An empty list: its end is any place that may be read.
define internal void @ask_for_nothing(ptr %asked, ptr %place) noinline {
  store i64 0, ptr %asked
  %count_at = getelementptr i64, ptr %asked, i64 1
  store i64 0, ptr %count_at
  call void @ask_for(ptr %asked, ptr %place, i64 0, i64 0)
  ret void
}

; So many lines of the list, or those that are left of a span: where they begin, and the step from one to the next.
define internal {ptr, i64} @lines_for_tile(ptr %asked, i64 %most) noinline {
  %number = load i64, ptr %asked
  %words = mul i64 %number, 3
  %first = add i64 %words, 2
  %span = getelementptr i64, ptr %asked, i64 %first
  %place = load ptr, ptr %span
  %step_at = getelementptr i64, ptr %span, i64 1
  %step = load i64, ptr %step_at
  %lines_at = getelementptr i64, ptr %span, i64 2
  %lines = load i64, ptr %lines_at
  %by = mul i64 %most, %step
  %place_after = getelementptr i8, ptr %place, i64 %by
  store ptr %place_after, ptr %span
  %lines_after = sub i64 %lines, %most
  store i64 %lines_after, ptr %lines_at
  %is_over = icmp sle i64 %lines_after, 0
  %goes_on = icmp ne i64 %step, 0
  %is_next = and i1 %is_over, %goes_on
  %one = zext i1 %is_next to i64
  %number_after = add i64 %number, %one
  store i64 %number_after, ptr %asked
  %start = insertvalue {ptr, i64} poison, ptr %place, 0
  %both = insertvalue {ptr, i64} %start, i64 %step, 1
  ret {ptr, i64} %both
}"""

# What a block asks for: its parts of the arrays that a kernel takes; and what the thread's next block begins with, as
# many blocks on as there are threads: its rows, if these follow each other or have their columns in lines, and its part
# of the result.
ASKED = """\
  call void @ask_for_nothing(ptr %asked, ptr %own_left)
  br i1 %some_arrays, label %wanted, label %follower
wanted:
  %w = phi i64 [0, %next], [%w_after, %wanted]
  %w_object_at = getelementptr i64, ptr %arrays, i64 %w
  %w_object = load ptr, ptr %w_object_at
  %w_data = getelementptr i8, ptr %w_object, i64 `DATA`
  %w_base = load ptr, ptr %w_data
  %w_word = add i64 %w, `RECORD_WORDS`
  %w_place_at = getelementptr i64, ptr %record, i64 %w_word
  %w_by = load i64, ptr %w_place_at
  %w_place = getelementptr i8, ptr %w_base, i64 %w_by
  %w_width_at = getelementptr i64, ptr %widths, i64 %w
  %w_width = load i64, ptr %w_width_at
  %w_bytes = mul i64 %w_width, %rows
  %w_lines = udiv i64 %w_bytes, `LINE`
  call void @ask_for(ptr %asked, ptr %w_place, i64 `LINE`, i64 %w_lines)
  %w_after = add i64 %w, 1
  %more_wanted = icmp ult i64 %w_after, %array_count
  br i1 %more_wanted, label %wanted, label %follower
follower:
  %follows_at = add i64 %at, %threads
  %is_followed = icmp ult i64 %follows_at, %block_count
  br i1 %is_followed, label %followed, label %asked_for
followed:
  %f_by = mul i64 %follows_at, %words
  %f_record = getelementptr i64, ptr %blocks, i64 %f_by
  %f_left_by = load i64, ptr %f_record
  %f_left = getelementptr i8, ptr %left, i64 %f_left_by
  %f_result_at = getelementptr i64, ptr %f_record, i64 2
  %f_result_by = load i64, ptr %f_result_at
  %f_result = getelementptr i8, ptr %result, i64 %f_result_by
  %f_rows_at = getelementptr i64, ptr %f_record, i64 3
  %f_rows = load i64, ptr %f_rows_at
  %f_result_bytes = mul i64 %f_rows, %result_width
  %f_result_lines = udiv i64 %f_result_bytes, `LINE`
  call void @ask_for(ptr %asked, ptr %f_result, i64 `LINE`, i64 %f_result_lines)
  %f_bytes = mul i64 %f_rows, %row_step
  %f_lines = udiv i64 %f_bytes, `LINE`
  %f_few = call i64 @llvm.umin.i64(i64 %f_lines, i64 `MOST_LINES`)
  %f_across = select i1 %in_columns, i64 %f_few, i64 0
  %f_dense = select i1 %in_rows, i64 %f_lines, i64 0
  call void @ask_for(ptr %asked, ptr %f_left, i64 `LINE`, i64 %f_dense)
  %some_across = icmp ugt i64 %f_across, 0
  br i1 %some_across, label %across_line, label %asked_for
across_line:
  %l = phi i64 [0, %followed], [%l_after, %across_line]
  %l_by = mul i64 %l, `LINE`
  %l_place = getelementptr i8, ptr %f_left, i64 %l_by
  call void @ask_for(ptr %asked, ptr %l_place, i64 %term_step, i64 %terms)
  %l_after = add i64 %l, 1
  %more_across = icmp ult i64 %l_after, %f_across
  br i1 %more_across, label %across_line, label %asked_for
asked_for:
  call void @ask_for(ptr %asked, ptr %own_left, i64 0, i64 0)"""

# What is the same for all blocks of a call.
FORESEEN = """\
  %threads = call i64 @llvm.ctpop.i64(i64 %free)
  %some_arrays = icmp ugt i64 %array_count, 0
  %row_bytes = mul i64 %terms, `SIZE`
  %in_rows = icmp eq i64 %row_step, %row_bytes
  %are_beside = icmp eq i64 %row_step, `SIZE`
  %is_far = icmp ne i64 %term_step, `SIZE`
  %in_columns = and i1 %are_beside, %is_far
  %result_bytes = mul i64 %columns, `SIZE`
  %is_whole = icmp eq i64 %pitch, %result_bytes
  %is_there = icmp ne i64 %in_place, 0
  %is_asked = and i1 %is_whole, %is_there
  %result_width = select i1 %is_asked, i64 %result_bytes, i64 0"""

WORDS = {"MOST_LINES": str(_MOST_LINES)}
