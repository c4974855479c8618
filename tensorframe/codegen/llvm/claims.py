"""Memory of threads: a word has a bit for each part of it that nobody has, and a thread takes one for a while."""

from __future__ import annotations

CLAIM = """\
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
}"""
