"""Software prefetch and streaming stores: whole lines of the cache, asked for early, or written past it."""

from __future__ import annotations

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.machine import HOST

# Asks for bytes, line by line; what is no memory is passed over.
_FETCH = f"""\
define internal void @fetch(ptr %start, i64 %size) nounwind {{
entry:
  %some = icmp ne i64 %size, 0
  br i1 %some, label %loop, label %done
loop:
  %at = phi i64 [0, %entry], [%after, %loop]
  %place = getelementptr i8, ptr %start, i64 %at
  call void @llvm.prefetch.p0(ptr %place, i32 0, i32 3, i32 1)
  %after = add i64 %at, {HOST.line}
  %more = icmp ult i64 %after, %size
  br i1 %more, label %loop, label %done
done:
  ret void
}}"""

# Copies bytes: whole lines past the caches, into which an ordinary store would read them first, the ends as ever.
_STREAM = f"""\
define internal void @stream(ptr noalias %to, ptr noalias %from, i64 %size) nounwind {{
entry:
  %address = ptrtoint ptr %to to i64
  %missing = sub i64 0, %address
  %first = and i64 %missing, {HOST.line - 1}
  %head = call i64 @llvm.umin.i64(i64 %first, i64 %size)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %head, i1 false)
  %left = sub i64 %size, %head
  %whole = and i64 %left, {-HOST.line}
  %end = add i64 %head, %whole
  %some = icmp ult i64 %head, %end
  br i1 %some, label %loop, label %done
loop:
  %at = phi i64 [%head, %entry], [%after, %loop]
  %source = getelementptr inbounds i8, ptr %from, i64 %at
  %line = load <{HOST.line // 4} x i32>, ptr %source, align 1
  %place = getelementptr inbounds i8, ptr %to, i64 %at
  store <{HOST.line // 4} x i32> %line, ptr %place, align {HOST.line}, !nontemporal NONTEMPORAL
  %after = add i64 %at, {HOST.line}
  %more = icmp ult i64 %after, %end
  br i1 %more, label %loop, label %done
done:
  %rest = sub i64 %size, %end
  %last = getelementptr inbounds i8, ptr %to, i64 %end
  %last_source = getelementptr inbounds i8, ptr %from, i64 %end
  call void @llvm.memcpy.p0.p0.i64(ptr %last, ptr %last_source, i64 %rest, i1 false)
  ret void
}}"""


def fetch(b: Builder, start: str, size: str) -> None:
    """Ask for so many bytes from an address on."""
    b.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    b.define(_FETCH)
    b.do(f"call void @fetch(ptr {start}, i64 {size})")


def stream(b: Builder, to: str, source: str, size: str) -> None:
    """Write so many bytes past the caches."""
    b.declare("i64 @llvm.umin.i64(i64, i64)")
    b.declare("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
    b.define(_STREAM.replace("NONTEMPORAL", b.metadata("!{i32 1}")))
    b.do(f"call void @stream(ptr {to}, ptr {source}, i64 {size})")


def fence(b: Builder) -> None:
    """Have everything that was streamed arrive before whatever is written next; on other processors, any lock does."""
    if b.target.is_x86:
        b.declare("void @llvm.x86.sse.sfence()")
        b.do("call void @llvm.x86.sse.sfence()")
