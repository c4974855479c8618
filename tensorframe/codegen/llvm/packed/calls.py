"""What threads call: blocks of products and of chains, in memory of their own, and kernels that take them."""

from __future__ import annotations

from tensorframe.codegen.llvm.packed import ahead
from tensorframe.codegen.llvm.packed.slots import VARYING, is_array, loaded
from tensorframe.codegen.llvm.spelled import spelled

HAVE_TAKEN = """\
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

# What functions of blocks begin with: the operands, and scratch memory that no other thread has until it is given back.
CLAIMED = """\
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
  `SPANS`"""

CHAINS = """\
; Blocks of rows of a product, what a kernel makes of them, and the product of that with another factor; divided by a
; number for each row, if it is to be. Columns that a block does not need are left out of both.
define void @chain_blocks(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
`LOADED`
`CLAIMED`
  %second = getelementptr i8, ptr %packed_from, i64 %second_at
  %scores = getelementptr i8, ptr %own, i64 %gathered
  %weights = getelementptr i8, ptr %own, i64 %weights_at
  %divisors = getelementptr i8, ptr %own, i64 %divisors_at
  %second_whole = call {i64, i64, i64} @panel_of(i64 %second_columns, i64 0)
  %second_panels = extractvalue {i64, i64, i64} %second_whole, 0
  call void @ask_for_nothing(ptr %asked, ptr %left)
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
                            ptr %scores, i64 %score_pitch, i64 %rows, ptr %own, ptr %asked)
  %own_places = getelementptr i64, ptr %record, i64 `RECORD_WORDS`
  call void @have_taken(ptr %own, ptr %arrays, i64 %array_count, ptr %own_places, ptr %inner, ptr %numbers,
                        i64 %number_count, ptr %kernels, i64 %kernel)
  %end_column = add i64 %begin_column, %some_columns
  call void @multiply_block(ptr %weights, i64 %score_pitch, i64 `SIZE`, i64 %begin_column, i64 %end_column,
                            i64 %columns, ptr %own_second, i64 %second_columns, i64 0, i64 %second_panels,
                            ptr %own_result, i64 %pitch, i64 %rows, ptr %own, ptr %asked)
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

BLOCKS = """\
; Blocks `start` to before `stop`, each in memory that no other thread has, and what a kernel makes of them.
define void @multiply_blocks(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
`LOADED`
`CLAIMED`
  %own_block = getelementptr i8, ptr %own, i64 %gathered
  %stays = icmp eq i64 %in_place, 0
`FORESEEN`
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
`ASKED`
  call void @multiply_block(ptr %own_left, i64 %row_step, i64 %term_step, i64 0, i64 %terms, i64 %terms,
                            ptr %own_right, i64 %columns, i64 0, i64 %panels,
                            ptr %block, i64 %pitch, i64 %rows, ptr %own, ptr %asked)
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


def call(text: str, record: tuple[str, ...], words: dict[str, str]) -> str:
    """Return a function that makes blocks, which have such records."""
    lines = []
    for number, name in enumerate(record):
        target = f"to_{name}" if is_array(name) else name
        lines += [
            f"  %{target}_word = getelementptr i64, ptr %record, i64 {number}",
            f"  %{target} = load i64, ptr %{target}_word",
        ]
    own = {
        "LOADED": loaded(),
        "CLAIMED": CLAIMED,
        "SPANS": ahead.SPANS,
        "FORESEEN": ahead.FORESEEN,
        "ASKED": ahead.ASKED,
        "RECORD": "\n".join(lines),
        "RECORD_WORDS": str(len(record)),
        "FIRST_ARRAY": str(len(VARYING)),
    }
    return spelled(text, own | ahead.WORDS | words)
