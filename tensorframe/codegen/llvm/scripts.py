"""Scripts: calls of a module's functions that were written down in advance, which threads make block by block.

What a block takes is the same whenever operands have the same shapes and strides, so it is worked out once. Slots of a
call are numbers, or addresses in an operand or in memory of the thread: bytes behind a base, which each run gives anew.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorframe.codegen.llvm.spelled import spelled

RUN = "run_scripts"
# what a run is given: the word of memory that no thread has (see `claims`), and all bases but the first, which is 0;
# the second is memory for each thread
BASES = 8
FIXED = (
    "starts",  # address of the number of each block's first call, and behind them how many calls there are
    "records",  # of calls: see `record_words`
    "own_bytes",  # of memory for each thread
)

_TEXT = """\
define void @run_scripts(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
  %slots = alloca [`SLOTS` x i64], align 16
  %bases = alloca [`BASES` x i64], align 16
  %starts = load ptr, ptr %fixed
  %records_at = getelementptr i64, ptr %fixed, i64 1
  %records = load ptr, ptr %records_at
  %own_bytes_at = getelementptr i64, ptr %fixed, i64 2
  %own_bytes = load i64, ptr %own_bytes_at
  %word = load ptr, ptr %varying
  %bit = call i64 @claim(ptr %word)
  %number = call i64 @llvm.cttz.i64(i64 %bit, i1 true)
  store i64 0, ptr %bases
  br label %base
base:
  %b = phi i64 [1, %entry], [%b_after, %base]
  %given_at = getelementptr i64, ptr %varying, i64 %b
  %given = load i64, ptr %given_at
  %base_at = getelementptr i64, ptr %bases, i64 %b
  store i64 %given, ptr %base_at
  %b_after = add i64 %b, 1
  %more_bases = icmp ult i64 %b_after, `BASES`
  br i1 %more_bases, label %base, label %own
own:
  %own_at = getelementptr i64, ptr %bases, i64 1
  %all_own = load i64, ptr %own_at
  %own_by = mul i64 %number, %own_bytes
  %this_own = add i64 %all_own, %own_by
  store i64 %this_own, ptr %own_at
  br label %block
block:
  %at = phi i64 [%start, %own], [%at_after, %block_end]
  %at_after = add i64 %at, 1
  %first_at = getelementptr i64, ptr %starts, i64 %at
  %first_call = load i64, ptr %first_at
  %end_at = getelementptr i64, ptr %starts, i64 %at_after
  %end_call = load i64, ptr %end_at
  br label %call
call:
  %c = phi i64 [%first_call, %block], [%c_after, %called]
  %record_by = mul i64 %c, `WORDS`
  %record = getelementptr i64, ptr %records, i64 %record_by
  %function = load i64, ptr %record
  %rows_at = getelementptr i64, ptr %record, i64 1
  %rows = load i64, ptr %rows_at
  %numbers = getelementptr i64, ptr %record, i64 2
  br label %slot
slot:
  %s = phi i64 [0, %call], [%s_after, %slot]
  %value_at = getelementptr i64, ptr %numbers, i64 %s
  %value = load i64, ptr %value_at
  %behind_at = getelementptr i64, ptr %value_at, i64 `SLOTS`
  %behind = load i64, ptr %behind_at
  %from_at = getelementptr i64, ptr %bases, i64 %behind
  %from = load i64, ptr %from_at
  %sum = add i64 %from, %value
  %slot_at = getelementptr i64, ptr %slots, i64 %s
  store i64 %sum, ptr %slot_at
  %s_after = add i64 %s, 1
  %more_slots = icmp ult i64 %s_after, `SLOTS`
  br i1 %more_slots, label %slot, label %chosen
chosen:
  switch i64 %function, label %do0 [`CHOICES`]
`CALLS`
called:
  %c_after = add i64 %c, 1
  %more_calls = icmp ult i64 %c_after, %end_call
  br i1 %more_calls, label %call, label %block_end
block_end:
  %more = icmp ult i64 %at_after, %stop
  br i1 %more, label %block, label %exit
exit:
  %given_back = atomicrmw or ptr %word, i64 %bit release
  ret void
}"""

_CALL = """\
do`NUMBER`:
  call void @`NAME`(i64 0, i64 %rows, ptr %slots, ptr %fixed)
  br label %called"""


def record_words(slots: int) -> int:
    """Return the words of a call: the number of its function, rows, so many slots, and the number of each base."""
    return 2 + 2 * slots


def scripts(functions: Sequence[str], slots: int) -> str:
    """Return the function that runs scripts of calls of these functions, which have so many slots at most."""
    calls = [
        spelled(_CALL, {"NUMBER": str(number), "NAME": name})
        for number, name in enumerate(functions)
    ]
    others = [f"i64 {number}, label %do{number}" for number in range(1, len(functions))]
    words = {
        "SLOTS": str(slots),
        "BASES": str(BASES),
        "WORDS": str(record_words(slots)),
        "CHOICES": "  ".join(others),
        "CALLS": "\n".join(calls),
    }
    return spelled(_TEXT, words)
