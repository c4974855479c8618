"""Masks of the first lanes, for loads and stores of vectors that have fewer elements than lanes."""

from __future__ import annotations


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
