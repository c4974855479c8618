"""What calls of packed products are given, in slots of 64 bits, and how text names it."""

from __future__ import annotations

from tensorframe.codegen.llvm.indirect_product import TERMS

PACK_ROWS, PACK_COLUMNS, MULTIPLY = "pack_rows", "pack_columns", "multiply_blocks"
CHAIN = "chain_blocks"

# what a call is given, in 64-bit slots: array objects, then the arrays and the numbers that kernels take
VARYING = (
    "left",  # the left factors
    "right",  # the right ones
    "packed",  # memory for the panels of these
    "result",  # where blocks are in place: there
    "scratch",  # memory of threads, behind a word with a bit for each that no thread has
    "free",  # this word at first, which packing sets
)
FIXED = (
    "row_step",  # bytes from one row of a left factor to the next
    "term_step",  # and from one term
    "terms",
    "columns",
    "places",  # address of the bytes to each right factor
    "down",  # bytes from one term of these to the next
    "across",  # and from one column
    "packed_at",  # bytes to the panels in their memory
    "scratch_at",  # and to the word of `free` in the other one
    "scratch_bytes",  # of each thread
    "gathered",  # the part of these in front of a block: `MOST_TERMS` for each row
    "in_place",  # whether blocks are made in the result; else kernels take them
    "pitch",  # bytes from one row of a block to the next
    "blocks",  # address of a record for each block: `BLOCK_WORDS`, and bytes to its part of each array
    "words",  # of such a record
    "array_count",
    "number_count",
    "widths",  # address of a word for each array: bytes of a block's row in it that are worth asking for, or 0
    "block_count",
    "inner",  # address of a word for each array: bytes to it in the thread's memory, or -1
    "kernels",  # address of records of kernels: function, range, fixed slots
    # of chains: the second right factors' panels in the memory of packed ones, and their columns; what a thread has
    "second_at",
    "second_columns",
    "weights_at",
    "divisors_at",  # 0: nothing is divided
)
BLOCK_WORDS = ("left", "right", "result", "rows", "kernel")
CHAIN_WORDS = (*BLOCK_WORDS, "second", "begin_panel", "end_panel", "begin_column", "some_columns")
# Terms that are added in one go: as many as `TERMS`, or what is left if that is not many more.
MOST_TERMS = TERMS * 3 // 2
# Most arrays and slots of a kernel: what is written for it lies on the stack.
MOST_ARRAYS, MOST_SLOTS = 64, 96


_POINTERS = frozenset(["left", "right", "packed", "result", "scratch", "second"])
_ADDRESSES = frozenset(["places", "blocks", "kernels", "inner", "widths"])


def is_array(name: str) -> bool:
    """Whether a slot has an array."""
    return name in _POINTERS


def loaded() -> str:
    """Return the lines that give slots their names; of arrays, `%..._data` is where the address of their memory is."""
    lines = []
    for source, names in (("varying", VARYING), ("fixed", FIXED)):
        for number, name in enumerate(names):
            place = f"  %{name}_slot = getelementptr i64, ptr %{source}, i64 {number}"
            if name in _POINTERS:
                lines += [
                    place,
                    f"  %{name}_object = load ptr, ptr %{name}_slot",
                    f"  %{name}_data = getelementptr i8, ptr %{name}_object, i64 `DATA`",
                ]
            else:
                kind = "ptr" if name in _ADDRESSES else "i64"
                lines += [place, f"  %{name} = load {kind}, ptr %{name}_slot"]
    return "\n".join(lines)
