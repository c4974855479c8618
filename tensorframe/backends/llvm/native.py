"""The native side of the worker threads, in LLVM's language: how ranges are handed out, without a lock or the GIL.

The word `open` says it all at once: how many chunks of which job are left, and how many threads may take some.
Whoever makes it one less owns a chunk, so the job cannot end, and its description cannot change, before that chunk is
finished. A thread that is late finds nothing left, or a chunk of the next job, with everything about it in place.
"""

from __future__ import annotations

from functools import cache

from tensorframe.backends.llvm.compile import PLAIN
from tensorframe.backends.llvm.target import processor
from tensorframe.codegen.llvm import SELECTED

SYMBOLS = ("run_alone", "run_shared", "run_calls", "run_several", "serve", "pause", "give_way")
LINE = 64
CALL_WORDS = 8
POOL_BYTES = 4 * LINE  # what threads write stays away from what others only read
_PARTS = 2  # of what is left for each thread, as many as it may take
STOP = 1  # the word of a pool that is written from outside

_ARM_HINT = ("declare void @llvm.aarch64.hint(i32)", "call void @llvm.aarch64.hint(i32 1)")
# how a thread that waits leaves the core's resources to its neighbour, by architecture
_PAUSE = {
    "x86_64": ("declare void @llvm.x86.sse2.pause()", "call void @llvm.x86.sse2.pause()"),
    "aarch64": _ARM_HINT,
    "arm64": _ARM_HINT,
}

_TEXT = r"""
%pool = type {
  i64, i64, [6 x i64],                 ;  0 open   1 whether workers are to stop
  i64, [7 x i64],                      ;  3 finished
  i64, i64, [6 x i64],                 ;  5 whether a job is running   6 number of the job
  ptr, i64, i64, i64, ptr, ptr, i64    ;  8 function   9 total  10 grain  11 chunks  12 varying  13 fixed  14 joined
}
; a call prepared beforehand: function, total, grain, chunks, varying, fixed, flag, joined
%call = type { ptr, i64, i64, i64, ptr, ptr, ptr, i64 }
; open: 24 bits number of the job, 8 bits threads that may take chunks, 32 bits chunks left
; finished: 32 bits chunks that workers ran, 32 bits chunks

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i32 @YIELD()
DECLARE_PAUSE

; The chunks from `first` to before `last`, one after the other, or all in one call where they may be joined.
define internal void @run_chunks(ptr %function, i64 %total, i64 %grain, i64 %joined, i64 %first, i64 %last,
                                 ptr %varying, ptr %fixed) {
entry:
  %all = sub i64 %last, %first
  %apart = icmp eq i64 %joined, 0
  %step = select i1 %apart, i64 1, i64 %all
  br label %next
next:
  %at = phi i64 [%first, %entry], [%after, %next]
  %after = add i64 %at, %step
  %start = mul i64 %at, %grain
  %end = mul i64 %after, %grain
  %stop = call i64 @llvm.umin.i64(i64 %end, i64 %total)
  call void %function(i64 %start, i64 %stop, ptr %varying, ptr %fixed)
  %more = icmp ult i64 %after, %last
  br i1 %more, label %next, label %done
done:
  ret void
}

; The same chunks, from `first` to before `chunks`, in this thread: where no thread helps, the bits are the same.
define void @run_alone(ptr %function, i64 %total, i64 %grain, i64 %first, i64 %chunks, ptr %varying, ptr %fixed,
                       i64 %joined) {
  call void @run_chunks(ptr %function, i64 %total, i64 %grain, i64 %joined, i64 %first, i64 %chunks,
                        ptr %varying, ptr %fixed)
  ret void
}

define internal i1 @may_take(i64 %open, i64 %thread) alwaysinline {
  %left = and i64 %open, 4294967295
  %high = lshr i64 %open, 32
  %threads = and i64 %high, 255
  %some = icmp ne i64 %left, 0
  %invited = icmp ult i64 %thread, %threads
  %may = and i1 %some, %invited
  ret i1 %may
}

; Take chunks until there are none: a part of what is left at once, so that a thread mostly goes on where it was.
define internal void @take_part(ptr %pool, i64 %thread) {
  %open_at = getelementptr %pool, ptr %pool, i32 0, i32 0
  br label %look
look:
  %open = load atomic i64, ptr %open_at acquire, align 8
  %may = call i1 @may_take(i64 %open, i64 %thread)
  br i1 %may, label %try, label %done
try:
  %left = and i64 %open, 4294967295
  %high = lshr i64 %open, 32
  %threads = and i64 %high, 255
  %parts = mul i64 %threads, PARTS
  %share = udiv i64 %left, %parts
  %count = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %less = sub i64 %open, %count
  %pair = cmpxchg ptr %open_at, i64 %open, i64 %less acq_rel acquire
  %taken = extractvalue {i64, i1} %pair, 1
  br i1 %taken, label %run, label %look
run:
  %function_at = getelementptr %pool, ptr %pool, i32 0, i32 8
  %function = load ptr, ptr %function_at
  %total_at = getelementptr %pool, ptr %pool, i32 0, i32 9
  %total = load i64, ptr %total_at
  %grain_at = getelementptr %pool, ptr %pool, i32 0, i32 10
  %grain = load i64, ptr %grain_at
  %chunks_at = getelementptr %pool, ptr %pool, i32 0, i32 11
  %chunks = load i64, ptr %chunks_at
  %varying_at = getelementptr %pool, ptr %pool, i32 0, i32 12
  %varying = load ptr, ptr %varying_at
  %fixed_at = getelementptr %pool, ptr %pool, i32 0, i32 13
  %fixed = load ptr, ptr %fixed_at
  %joined_at = getelementptr %pool, ptr %pool, i32 0, i32 14
  %joined = load i64, ptr %joined_at
  %first = sub i64 %chunks, %left
  %last = add i64 %first, %count
  call void @run_chunks(ptr %function, i64 %total, i64 %grain, i64 %joined, i64 %first, i64 %last,
                        ptr %varying, ptr %fixed)
  %finished_at = getelementptr %pool, ptr %pool, i32 0, i32 3
  %is_worker = icmp ne i64 %thread, 0
  %one = select i1 %is_worker, i64 4294967297, i64 1
  %made = mul i64 %one, %count
  %before = atomicrmw add ptr %finished_at, i64 %made release
  br label %look
done:
  ret void
}

; A worker: take part in jobs until there was none for so many pauses, and then so many looks between which its core is
; free for whoever wants it.
define void @serve(ptr %pool, i64 %thread, i64 %pauses, i64 %yields) {
  %open_at = getelementptr %pool, ptr %pool, i32 0, i32 0
  %stop_at = getelementptr %pool, ptr %pool, i32 0, i32 1
  %patience = add i64 %pauses, %yields
  br label %work
work:
  call void @take_part(ptr %pool, i64 %thread)
  br label %watch
watch:
  %waited = phi i64 [0, %work], [%longer, %spin], [%longer, %yield]
  %open = load atomic i64, ptr %open_at monotonic, align 8
  %may = call i1 @may_take(i64 %open, i64 %thread)
  br i1 %may, label %work, label %idle
idle:
  %stop = load atomic i64, ptr %stop_at monotonic, align 8
  %goes_on = icmp eq i64 %stop, 0
  %longer = add i64 %waited, 1
  %patient = icmp ult i64 %longer, %patience
  %again = and i1 %goes_on, %patient
  br i1 %again, label %still, label %done
still:
  %early = icmp ule i64 %longer, %pauses
  br i1 %early, label %spin, label %yield
spin:
  PAUSE
  br label %watch
yield:
  %yielded = call i32 @YIELD()
  br label %watch
done:
  ret void
}

; A caller: open a job, the chunks from `first` to before `chunks`, take part in it, and wait for the others' last
; ones. Alone if another job is running.
; Returns how many chunks workers ran.
define i64 @run_shared(ptr %function, i64 %total, i64 %grain, i64 %first, i64 %chunks, ptr %varying, ptr %fixed,
                       i64 %joined, ptr %pool, i64 %threads, i64 %patience) {
  %running_at = getelementptr %pool, ptr %pool, i32 0, i32 5
  %pair = cmpxchg ptr %running_at, i64 0, i64 1 acquire monotonic
  %free = extractvalue {i64, i1} %pair, 1
  br i1 %free, label %describe, label %alone
alone:
  call void @run_alone(ptr %function, i64 %total, i64 %grain, i64 %first, i64 %chunks, ptr %varying, ptr %fixed,
                       i64 %joined)
  ret i64 0
describe:
  %function_at = getelementptr %pool, ptr %pool, i32 0, i32 8
  store ptr %function, ptr %function_at
  %total_at = getelementptr %pool, ptr %pool, i32 0, i32 9
  store i64 %total, ptr %total_at
  %grain_at = getelementptr %pool, ptr %pool, i32 0, i32 10
  store i64 %grain, ptr %grain_at
  %chunks_at = getelementptr %pool, ptr %pool, i32 0, i32 11
  store i64 %chunks, ptr %chunks_at
  %varying_at = getelementptr %pool, ptr %pool, i32 0, i32 12
  store ptr %varying, ptr %varying_at
  %fixed_at = getelementptr %pool, ptr %pool, i32 0, i32 13
  store ptr %fixed, ptr %fixed_at
  %joined_at = getelementptr %pool, ptr %pool, i32 0, i32 14
  store i64 %joined, ptr %joined_at
  %finished_at = getelementptr %pool, ptr %pool, i32 0, i32 3
  store i64 0, ptr %finished_at
  %number_at = getelementptr %pool, ptr %pool, i32 0, i32 6
  %last = load i64, ptr %number_at
  %number = add i64 %last, 1
  store i64 %number, ptr %number_at
  %high = shl i64 %number, 40
  %middle = shl i64 %threads, 32
  %upper = or i64 %high, %middle
  %left = sub i64 %chunks, %first
  %open = or i64 %upper, %left
  %open_at = getelementptr %pool, ptr %pool, i32 0, i32 0
  store atomic i64 %open, ptr %open_at release, align 8
  call void @take_part(ptr %pool, i64 0)
  br label %wait
wait:
  %waited = phi i64 [0, %describe], [%longer, %again]
  %finished = load atomic i64, ptr %finished_at acquire, align 8
  %count = and i64 %finished, 4294967295
  %all = icmp eq i64 %count, %left
  br i1 %all, label %done, label %more
more:
  %longer = add i64 %waited, 1
  %patient = icmp ult i64 %longer, %patience
  br i1 %patient, label %spin, label %yield
spin:
  PAUSE
  br label %again
yield:
  %yielded = call i32 @YIELD()
  br label %again
again:
  br label %wait
done:
  store atomic i64 0, ptr %running_at release, align 8
  %helped = lshr i64 %finished, 32
  ret i64 %helped
}

; Calls prepared beforehand, from number `first` to before `count`, each a job of its own. Returns the number of the one
; that has no function, which is for Python to make, or that has set its flag; `count` if there is none.
define i64 @run_calls(ptr %calls, i64 %first, i64 %count, ptr %pool, i64 %threads, i64 %patience) {
entry:
  br label %look
look:
  %at = phi i64 [%first, %entry], [%after, %next]
  %some = icmp ult i64 %at, %count
  br i1 %some, label %take, label %done
take:
  %this = getelementptr %call, ptr %calls, i64 %at
  %function = load ptr, ptr %this
  %is_native = icmp ne ptr %function, null
  br i1 %is_native, label %run, label %done
run:
  %total_at = getelementptr %call, ptr %this, i32 0, i32 1
  %total = load i64, ptr %total_at
  %grain_at = getelementptr %call, ptr %this, i32 0, i32 2
  %grain = load i64, ptr %grain_at
  %chunks_at = getelementptr %call, ptr %this, i32 0, i32 3
  %chunks = load i64, ptr %chunks_at
  %varying_at = getelementptr %call, ptr %this, i32 0, i32 4
  %varying = load ptr, ptr %varying_at
  %fixed_at = getelementptr %call, ptr %this, i32 0, i32 5
  %fixed = load ptr, ptr %fixed_at
  %joined_at = getelementptr %call, ptr %this, i32 0, i32 7
  %joined = load i64, ptr %joined_at
  %invited = call i64 @llvm.umin.i64(i64 %threads, i64 %chunks)
  %is_shared = icmp ugt i64 %invited, 1
  br i1 %is_shared, label %shared, label %alone
shared:
  %helped = call i64 @run_shared(ptr %function, i64 %total, i64 %grain, i64 0, i64 %chunks, ptr %varying, ptr %fixed,
                                 i64 %joined, ptr %pool, i64 %invited, i64 %patience)
  br label %check
alone:
  call void @run_alone(ptr %function, i64 %total, i64 %grain, i64 0, i64 %chunks, ptr %varying, ptr %fixed,
                       i64 %joined)
  br label %check
check:
  %flag_at = getelementptr %call, ptr %this, i32 0, i32 6
  %flag = load ptr, ptr %flag_at
  %is_checked = icmp ne ptr %flag, null
  br i1 %is_checked, label %test, label %next
test:
  %mark = load i8, ptr %flag
  %is_set = icmp ne i8 %mark, 0
  br i1 %is_set, label %done, label %next
next:
  %after = add i64 %at, 1
  br label %look
done:
  ret i64 %at
}

; Chunks `start` to `stop` of several calls prepared beforehand, which count on from each to the next: `varying` has how
; many calls there are, and then the calls.
define void @run_several(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {
entry:
  %count = load i64, ptr %varying
  %calls = getelementptr i64, ptr %varying, i64 1
  br label %look
look:
  %at = phi i64 [0, %entry], [%after, %next]
  %begin = phi i64 [0, %entry], [%end, %next]
  %this = getelementptr %call, ptr %calls, i64 %at
  %chunks_at = getelementptr %call, ptr %this, i32 0, i32 3
  %chunks = load i64, ptr %chunks_at
  %end = add i64 %begin, %chunks
  %low = call i64 @llvm.umax.i64(i64 %start, i64 %begin)
  %high = call i64 @llvm.umin.i64(i64 %stop, i64 %end)
  %some = icmp ult i64 %low, %high
  br i1 %some, label %run, label %next
run:
  %function = load ptr, ptr %this
  %total_at = getelementptr %call, ptr %this, i32 0, i32 1
  %total = load i64, ptr %total_at
  %grain_at = getelementptr %call, ptr %this, i32 0, i32 2
  %grain = load i64, ptr %grain_at
  %varying_at = getelementptr %call, ptr %this, i32 0, i32 4
  %given = load ptr, ptr %varying_at
  %fixed_at = getelementptr %call, ptr %this, i32 0, i32 5
  %kept = load ptr, ptr %fixed_at
  %joined_at = getelementptr %call, ptr %this, i32 0, i32 7
  %joined = load i64, ptr %joined_at
  %first = sub i64 %low, %begin
  %last = sub i64 %high, %begin
  call void @run_chunks(ptr %function, i64 %total, i64 %grain, i64 %joined, i64 %first, i64 %last,
                        ptr %given, ptr %kept)
  br label %next
next:
  %after = add i64 %at, 1
  %more = icmp ult i64 %after, %count
  br i1 %more, label %look, label %done
done:
  ret void
}

; So many pauses, to find out how long one takes.
define void @pause(i64 %times) {
entry:
  br label %next
next:
  %made = phi i64 [0, %entry], [%after, %next]
  PAUSE
  %after = add i64 %made, 1
  %more = icmp ult i64 %after, %times
  br i1 %more, label %next, label %done
done:
  ret void
}

; The same with yields.
define void @give_way(i64 %times) {
entry:
  br label %next
next:
  %made = phi i64 [0, %entry], [%after, %next]
  %yielded = call i32 @YIELD()
  %after = add i64 %made, 1
  %more = icmp ult i64 %after, %times
  br i1 %more, label %next, label %done
done:
  ret void
}
"""


@cache
def text() -> str:
    """Return the native side for this machine."""
    triple = processor().triple
    declaration, pause = _PAUSE.get(triple.partition("-")[0], ("", ""))
    give_way = "SwitchToThread" if "windows" in triple else "sched_yield"
    spelled = {
        "DECLARE_PAUSE": declaration,
        "PAUSE": pause,
        "YIELD": give_way,
        "PARTS": str(_PARTS),
    }
    body = _TEXT
    for mark, spelling in spelled.items():
        body = body.replace(mark, spelling)
    return f"{SELECTED}{PLAIN}{body}"
