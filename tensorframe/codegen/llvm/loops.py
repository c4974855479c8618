"""Loops of functions that are printed by hand: a counter, values that are carried along, and slots of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorframe.codegen.llvm.builder import Builder
from tensorframe.codegen.llvm.types import vector

# type and first value of what a loop carries along
Carried = Sequence[tuple[str, str]]
# (counter, values carried) -> the values for the next turn
Body = Callable[[str, list[str]], list[str]]


def slots_of(b: Builder, names: Sequence[str], pointers: int) -> dict[str, str]:
    """Return what a call was given in its 64-bit slots, of which the first ones are addresses."""
    values = {}
    for number, name in enumerate(names):
        kind = "ptr" if number < pointers else "i64"
        place = b.value(f"getelementptr i64, ptr %varying, i64 {number}")
        values[name] = b.value(f"load {kind}, ptr {place}")
    return values


def named_slots(names: Sequence[str], pointers: int) -> list[str]:
    """Return the lines that load what a call was given, as `slots_of` does, under the names of the slots."""
    lines: list[str] = []
    for number, name in enumerate(names):
        kind = "ptr" if number < pointers else "i64"
        lines += [
            f"  %slot_{name} = getelementptr i64, ptr %varying, i64 {number}",
            f"  %{name} = load {kind}, ptr %slot_{name}",
        ]
    return lines


def moved(b: Builder, pointer: str, by: str, times: str | int = 1) -> str:
    """Return an address so many bytes on."""
    if times != 1:
        by = b.value(f"mul i64 {by}, {times}")
    return b.value(f"getelementptr i8, ptr {pointer}, i64 {by}")


def element(b: Builder, pointer: str, kind: str, index: str | int) -> str:
    """Return the address of an element."""
    return b.value(f"getelementptr {kind}, ptr {pointer}, i64 {index}")


def counted(
    b: Builder, start: str, stop: str, step: int, carried: Carried, body: Body
) -> tuple[str, list[str]]:
    """Write a loop that runs while a whole step fits; return where it ended, and what was carried to there."""
    before = b.block
    head, inside, after = b.new_label(), b.new_label(), b.new_label()
    b.jump(head)
    b.begin(head)
    counter, line = b.open_phi("i64")
    phis = [b.open_phi(kind) for kind, _ in carried]
    end = b.value(f"add i64 {counter}, {step}")
    b.branch(b.value(f"icmp ule i64 {end}, {stop}"), inside, after)
    b.begin(inside)
    values = body(counter, [name for name, _ in phis])
    last = b.block
    b.jump(head)
    b.close_phi(line, (start, before), (end, last))
    for (_, phi), (_, first), value in zip(phis, carried, values, strict=True):
        b.close_phi(phi, (first, before), (value, last))
    b.begin(after)
    return counter, [name for name, _ in phis]


def if_below(
    b: Builder, low: str, high: str, values: Carried, body: Callable[[], list[str]]
) -> list[str]:
    """Write what is done where one number is below another; return what it gives, or the values from before."""
    some, after, before = b.new_label(), b.new_label(), b.block
    b.branch(b.value(f"icmp ult i64 {low}, {high}"), some, after)
    b.begin(some)
    results = body()
    last = b.block
    b.jump(after)
    b.begin(after)
    pairs = zip(values, results, strict=True)
    return [b.phi(kind, (old, before), (new, last)) for (kind, old), new in pairs]


def first_lanes(b: Builder, lanes: int, count: str) -> str:
    """Return the mask of the first `count` lanes."""
    with b.on(lanes):
        limit = b.splat("i64", count)
        return b.value(f"icmp ult {vector('i64', lanes)} {b.steps('i64')}, {limit}")


def in_streams(
    b: Builder, start: str, stop: str, count: int, body: Callable[[list[str]], None]
) -> None:
    """Write a loop that goes through so many equal parts of a range side by side, and one over what is left.

    `body` is given a number of each part, or one alone. Memory gives more to some streams of a thread than to one, and
    each goes on where it was, so that what a processor fetches by itself is of use.
    """
    each = b.value(f"udiv i64 {b.value(f'sub i64 {stop}, {start}')}, {count}")
    end = b.value(f"add i64 {start}, {each}")
    left = b.value(f"add i64 {start}, {b.value(f'mul i64 {each}, {count}')}")

    def some(first: str, _: list[str]) -> list[str]:
        numbers = [first]
        while len(numbers) < count:
            numbers.append(b.value(f"add i64 {numbers[-1]}, {each}"))
        body(numbers)
        return []

    def single(number: str, _: list[str]) -> list[str]:
        body([number])
        return []

    counted(b, start, end, 1, (), some)
    counted(b, left, stop, 1, (), single)
