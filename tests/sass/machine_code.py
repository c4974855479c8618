"""Machine code (SASS): what NVIDIA's disassembler says of kernels, read and counted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from tests.sass.disassembly import disassembly

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
# an instruction: its address, what it is called, and the rest
_INSTRUCTION = re.compile(r"/\*([0-9a-f]+)\*/\s+(@!?U?P\w+ )?([A-Z][\w.]*)\s*(.*?)\s*;")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_USAGE = re.compile(r"REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")
_DYNAMIC = re.compile(r"dynamic_shared\[\];  // (\d+) bytes")
_PREDICATE = re.compile(r"!?U?P(\d|T)")
_ZEROS = {"RZ", "URZ"}
# what moves a zero takes, and what else choices of 64 bits do
_NOTHING = {"RZ", "URZ", "SRZ", "0", "0x0"}
_SMALL = re.compile(r"0x[0-9a-f]{1,8}|!?U?P(\d|T)")
_PAIR = re.compile(r"(U?R)(\d+)")
_CONSTANT = {"PT", "!PT", "UPT", "!UPT"}
_WIDTH = re.compile(r"\.(?:[USE]*(8|16)|(64|128|256))(?=\.|$)")


@dataclass(frozen=True)
class Instruction:
    """One instruction: `LDG.E.128` at an address, in a loop or not."""

    address: int
    name: str
    operands: str
    is_conditional: bool = False

    @property
    def op(self) -> str:
        """What it does, without how."""
        return self.name.partition(".")[0]

    @property
    def width(self) -> int:
        """Bits that an access to memory moves for each thread."""
        match = _WIDTH.search(self.name)
        return int(match[1] or match[2]) if match else 32

    @property
    def is_load(self) -> bool:
        """Whether it reads global memory, to registers or to shared memory."""
        return self.op in ("LDG", "LD", "LDGSTS")

    @property
    def is_store(self) -> bool:
        """Whether it writes global memory."""
        return self.op in ("STG", "ST")


@dataclass(frozen=True)
class MachineCode:
    """The machine code of one kernel: what the compiler says of it, and its instructions."""

    registers: int
    stack: int
    shared: int
    local: int
    instructions: tuple[Instruction, ...]
    loops: tuple[tuple[Instruction, ...], ...]  # of each, what is in no other loop inside

    def count(self, *ops: str) -> int:
        """Return how many instructions do one of these things."""
        return sum(one.op in ops for one in self.instructions)

    @property
    def barriers(self) -> int:
        """How many times the threads of a group wait for each other."""
        return self.count("BAR")

    @property
    def shuffles(self) -> int:
        """How many times the threads of a warp read each other's registers."""
        return self.count("SHFL")

    @property
    def spills(self) -> int:
        """Accesses to a thread's own part of memory, where registers did not suffice."""
        return self.count("LDL", "STL")

    @cached_property
    def main_loop(self) -> tuple[Instruction, ...]:
        """The loop that has most bytes on their way by wide accesses, or by all; the kernel where none reads memory.

        What is left over, or not aligned, is read by narrow accesses in a loop of its own. Of a loop that waits for
        copies to shared memory several times, those between two waits count.
        """
        by_width = max(self.loops, key=_on_their_way, default=())
        return by_width if _bytes_read(by_width) else self.instructions

    @property
    def bytes_read(self) -> int:
        """The bytes that a thread reads in one turn of the main loop: so many are on their way at once."""
        return sum(self.widths_when_aligned(stores=False)) // 8

    @property
    def float64_each(self) -> float:
        """Additions of float64 for each element of four bytes that the main loop reads."""
        added = sum(one.op in ("DADD", "DFMA") for one in self.main_loop)
        return 4 * added / self.bytes_read if self.bytes_read else float(added)

    @property
    def wide_positions(self) -> int:
        """Instructions in the main loop that add the upper halves of two numbers of 64 bits.

        What makes an address of a position of 32 bits, whose upper half is zero, is not among them.
        """
        return sum(_adds_upper_halves(one) or self._adds_64_bits(one) for one in self.main_loop)

    def _adds_64_bits(self, one: Instruction) -> bool:
        """Whether an instruction adds 64 bits at once, as those of sm_120 do, and no operand has 32 of them or so."""
        earlier = [each for each in self.instructions if each.address < one.address]
        return _is_addition(one) and not any(_is_short(term, earlier) for term in _terms(one))

    @property
    def wide_reads(self) -> int:
        """Reads of global memory of 16 bytes each in the whole kernel."""
        return sum(one.is_load and one.width == 128 for one in self.instructions)

    def widths(self, *, stores: bool) -> list[int]:
        """Return the bits of each access to global memory in the main loop."""
        return [one.width for one in self.main_loop if (one.is_store if stores else one.is_load)]

    def widths_when_aligned(self, *, stores: bool) -> list[int]:
        """Return the same without narrow accesses of what is not aligned, which has its own way in the loop."""
        widths = self.widths(stores=stores)
        if not stores and any(one.op == "LDGSTS" and one.width == 128 for one in self.main_loop):
            return [width for width in widths if width == 128]
        return [width for width in widths if width > 32] if 128 in widths else widths


def _adds_upper_halves(one: Instruction) -> bool:
    if ".X" not in one.name or one.op in ("LEA", "ULEA"):
        return False
    _, *taken = [operand.strip() for operand in one.operands.split(",")]
    # a carry that is always there is the 1 of a neighbour's position, which has 32 bits
    if set(takewhile(_PREDICATE.fullmatch, reversed(taken))) <= _CONSTANT:
        return False
    terms = [operand for operand in taken if not _PREDICATE.fullmatch(operand)]
    if (
        one.op in ("IMAD", "UIMAD") and set(terms[:2]) & _ZEROS
    ):  # a product with zero, and what is added
        terms = terms[2:]
    return len([term for term in terms if term not in _ZEROS]) > 1


def _is_addition(one: Instruction) -> bool:
    return one.op.endswith("IADD") and ".64" in one.name


def _terms(one: Instruction) -> list[str]:
    return [operand.strip("- ").removesuffix(".reuse") for operand in one.operands.split(",")][1:]


def _is_short(term: str, earlier: Sequence[Instruction]) -> bool:
    """Whether a term of 64 bits is a number, or the upper register of a pair has no digits.

    What set that last took nothing but zeros, chose among numbers, or added what is short.
    """
    pair = _PAIR.fullmatch(term)
    if pair is None:
        return True
    upper = f"{pair[1]}{int(pair[2]) + 1}"
    for place in _way_back(earlier):
        one = earlier[place]
        target, taken = one.operands.partition(",")[0], _terms(one)
        if target == upper:
            return set(taken) <= _NOTHING
        if target == term and _is_addition(one):
            return all(_is_short(each, earlier[:place]) for each in taken)
        if target == term and (".64" in one.name or ".WIDE" in one.name):
            return all(each in _NOTHING or _SMALL.fullmatch(each) for each in taken)
    return False


def _way_back(earlier: Sequence[Instruction]) -> Iterator[int]:
    """Yield the places of instructions, the last one first, without those of another way that ends in a branch."""
    elsewhere = False
    for place in reversed(range(len(earlier))):
        if earlier[place].op == "BRA":
            elsewhere = not earlier[place].is_conditional
        elif not elsewhere:
            yield place


def _on_their_way(loop: Sequence[Instruction]) -> tuple[float, int, int]:
    waits = max(1, sum(one.op == "LDGDEPBAR" for one in loop))
    return _bytes_read(loop, 128) / waits, -waits, _bytes_read(loop)


def _bytes_read(instructions: Iterable[Instruction], least: int = 0) -> int:
    return sum(one.width for one in instructions if one.is_load and one.width >= least) // 8


def machine_code(name: str, source: str, architecture: str) -> MachineCode:
    """Return the machine code of the kernel in a source."""
    text = disassembly(name, source, architecture)
    usage = _USAGE.search(text)
    assert usage is not None, text
    instructions, loops = parsed(text)
    registers, stack, shared, local = map(int, usage.groups())
    shared += sum(map(int, _DYNAMIC.findall(source)))
    return MachineCode(registers, stack, shared, local, instructions, loops)


def parsed(text: str) -> tuple[tuple[Instruction, ...], tuple[tuple[Instruction, ...], ...]]:
    """Return the instructions of a disassembly, and those of each loop that are in none inside of it."""
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}  # to the place of the next instruction
    for line in text.splitlines():
        label = _LABEL.match(line)
        if label:
            labels[label[1]] = len(instructions)
        found = _INSTRUCTION.search(line)
        if found:
            address, condition, name, operands = found.groups()
            instructions.append(Instruction(int(address, 16), name, operands, bool(condition)))
    spans = set(_loops(instructions, labels))
    own: dict[tuple[int, int], list[Instruction]] = {span: [] for span in sorted(spans)}
    for place, instruction in enumerate(instructions):
        around = [span for span in own if span[0] <= place <= span[1]]
        if around:
            own[min(around, key=lambda span: span[1] - span[0])].append(instruction)
    return tuple(instructions), tuple([tuple(loop) for loop in own.values()])


def _loops(instructions: list[Instruction], labels: dict[str, int]) -> Iterator[tuple[int, int]]:
    """Yield where loops begin and end: a branch backwards, but for the one to itself that fills up a kernel's end."""
    for place, one in enumerate(instructions):
        target = re.search(r"\.L_x_\d+", one.operands)
        if one.op == "BRA" and target and labels.get(target[0], place) < place:
            yield labels[target[0]], place
