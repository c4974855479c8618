"""Products whose factors lie anywhere: row r and term i of the left one are at rows[r] + terms[i], as a table says.

So do rows of the result. The right factor's columns are next to each other, and its terms where the table says. A tile
of the result stays in registers: each term multiplies the left factor's element of each row with vectors of columns.
Windows on an input need no copy that way: which elements they have is a matter of tables (Dukhan, "The Indirect
Convolution Algorithm", 2019).
"""

from __future__ import annotations

from tensorframe.codegen.llvm.box_copy import COPY, box_copy
from tensorframe.codegen.llvm.claims import CLAIM
from tensorframe.codegen.llvm.kernel import SELECTED
from tensorframe.codegen.llvm.loops import named_slots
from tensorframe.codegen.llvm.masks import masks
from tensorframe.codegen.llvm.scripts import scripts
from tensorframe.codegen.llvm.target import Target
from tensorframe.codegen.llvm.tiles import rows_of_tiles
from tensorframe.codegen.llvm.transposition import TRANSPOSE, transposition
from tensorframe.dtypes import DType, float32, float64
from tensorframe.quick_tuples import NamedTuple

# Terms that are summed at most before a tile goes back to memory: the right factor's part of them stays in a cache.
TERMS = 256
PRODUCT = "indirect_product"
# what scripts call, and the slots of that which has the most
FUNCTIONS, MOST_SLOTS = (PRODUCT, TRANSPOSE, COPY), 13
# what LLVM calls the dtypes that there are functions for
SCALARS = {float32: "float", float64: "double"}

# what a call of the product is given, in 64-bit slots
SLOTS = (
    "left",  # address of the left factor
    "right",  # and of the right one
    "result",
    "rows",  # address of pairs: bytes from `left` to each row, from `result` to it
    "terms",  # address of pairs: bytes to a term in the left factor, in the right one
    "count",  # of terms
    "vectors",  # columns, in vectors
    "times",  # how many products, each so many bytes on in the factors and the result:
    "left_step",
    "right_step",
    "result_step",
    "resumed",  # whether the result has sums already, to which these are added
)


class Shape(NamedTuple):
    """What fits into the registers of a processor: elements of a vector, and rows of tiles of one, two, ... vectors.

    Beside a tile there are the vectors of a term and an element of the left factor: a sum that has no register of its
    own is stored and loaded for each term, which halves the speed.
    """

    lanes: int
    rows: tuple[int, ...]

    @property
    def vectors(self) -> int:
        """The most vectors of a tile."""
        return len(self.rows)

    @property
    def terms(self) -> int:
        """How many terms are summed before a tile goes back to memory.

        The right factor's part of them leaves half of the nearest cache to the left one's and the result's. Where
        registers are many, a tile has too many sums to store and load them more often.
        """
        return TERMS if self.vectors > 3 else TERMS // 2

    def heights(self, vectors: int) -> list[int]:
        """Return the heights of tiles of so many vectors: the largest, and those for rows that are left over."""
        most = self.rows[vectors - 1]
        return [most, *[power for power in (8, 4, 2, 1) if power < most]]


def shape_for(target: Target, dtype: DType) -> Shape:
    """Return the tile for a processor."""
    wide = {"+avx512f", "+fma"} <= target.features
    size = 64 if wide else 32 if "+avx2" in target.features else 16
    many_registers = wide or not target.is_x86
    return Shape(size // dtype.itemsize, (8, 8, 8, 6) if many_registers else (6, 6, 4))


def print_products(target: Target, layout: str, dtype: DType) -> str:
    """Return the module with the product, the transposition of matrices and the copy of boxes of a dtype."""
    shape, scalar = shape_for(target, dtype), SCALARS[dtype]
    tiles = [
        _Tile(scalar, dtype.itemsize, shape.lanes, rows, vectors).text()
        for vectors in range(1, shape.vectors + 1)
        for rows in shape.heights(vectors)
    ]
    return module(
        target,
        layout,
        fused_multiply_add(shape.lanes, dtype),
        masks(shape.lanes, scalar, dtype.itemsize),
        *tiles,
        _product(shape, dtype.itemsize),
        transposition(shape.lanes, scalar, dtype.itemsize),
        box_copy(shape.lanes, scalar, dtype.itemsize),
        CLAIM,
        scripts(FUNCTIONS, MOST_SLOTS),
    )


def module(target: Target, layout: str, *parts: str) -> str:
    """Return the text of a module whose functions need no passes of LLVM's."""
    head = f'{SELECTED}target triple = "{target.triple}"\ntarget datalayout = "{layout}"'
    return "\n\n".join([head, *parts]) + "\n"


def fused_multiply_add(lanes: int, dtype: DType) -> str:
    """Return the declaration of the multiply-add of vectors."""
    vector = f"<{lanes} x {SCALARS[dtype]}>"
    function = f"@llvm.fmuladd.v{lanes}f{8 * dtype.itemsize}"
    return f"declare {vector} {function}({vector}, {vector}, {vector})"


class _Tile:
    """The function that makes one tile."""

    def __init__(self, scalar: str, size: int, lanes: int, rows: int, vectors: int) -> None:
        self._scalar, self._size, self._lanes = scalar, size, lanes
        self._rows, self._vectors = range(rows), range(vectors)
        self._vector = f"<{lanes} x {scalar}>"
        self._cells = [(row, column) for row in self._rows for column in self._vectors]

    def text(self) -> str:
        """Return the function."""
        name = f"tile_{len(self._rows)}_{len(self._vectors)}"
        parameters = (
            "ptr %left, ptr %rows, ptr %terms, i64 %count, ptr %right, ptr %result, i64 %more"
        )
        head = f"define internal void @{name}({parameters}) noinline {{"
        return "\n".join([head, *self._entry(), *self._loop(), *self._exit(), "}"])

    def _entry(self) -> list[str]:
        lines = ["entry:"]
        for row in self._rows:
            lines += [
                f"  %at{row} = getelementptr {{i64, i64}}, ptr %rows, i64 {row}",
                f"  %to{row} = load i64, ptr %at{row}",
                f"  %left{row} = getelementptr i8, ptr %left, i64 %to{row}",
                f"  %beside{row} = getelementptr i64, ptr %at{row}, i64 1",
                f"  %down{row} = load i64, ptr %beside{row}",
                f"  %result{row} = getelementptr i8, ptr %result, i64 %down{row}",
            ]
        for row, column in self._cells:
            lines.append(
                f"  %cell{row}_{column} = getelementptr {self._vector}, ptr %result{row}, i64 {column}"
            )
        lines += [
            "  %fresh = icmp eq i64 %more, 0",
            "  br i1 %fresh, label %begin, label %resume",
            "resume:",
        ]
        for row, column in self._cells:
            lines.append(
                f"  %old{row}_{column} = load {self._vector}, ptr %cell{row}_{column}, align {self._size}"
            )
        return [*lines, "  br label %loop", "begin:", "  br label %loop"]

    def _loop(self) -> list[str]:
        kind = self._vector
        function = f"@llvm.fmuladd.v{self._lanes}f{8 * self._size}"
        lines = ["loop:", "  %i = phi i64 [0, %begin], [0, %resume], [%next, %loop]"]
        for row, column in self._cells:
            cell = f"{row}_{column}"
            start = f"[zeroinitializer, %begin], [%old{cell}, %resume]"
            lines.append(f"  %sum{cell} = phi {self._vector} {start}, [%total{cell}, %loop]")
        lines += [
            "  %term = getelementptr {i64, i64}, ptr %terms, i64 %i",
            "  %along = load i64, ptr %term",
            "  %second = getelementptr i64, ptr %term, i64 1",
            "  %across = load i64, ptr %second",
            "  %from = getelementptr i8, ptr %right, i64 %across",
        ]
        for column in self._vectors:
            lines += [
                f"  %there{column} = getelementptr {self._vector}, ptr %from, i64 {column}",
                f"  %y{column} = load {self._vector}, ptr %there{column}, align {self._size}",
            ]
        for row in self._rows:
            lines += [
                f"  %here{row} = getelementptr i8, ptr %left{row}, i64 %along",
                f"  %x{row} = load {self._scalar}, ptr %here{row}, align {self._size}",
                f"  %one{row} = insertelement {self._vector} poison, {self._scalar} %x{row}, i64 0",
                f"  %all{row} = shufflevector {kind} %one{row}, {kind} poison, <{self._lanes} x i32> zeroinitializer",
            ]
            for column in self._vectors:
                cell = f"{row}_{column}"
                operands = f"{kind} %all{row}, {kind} %y{column}, {kind} %sum{cell}"
                lines.append(f"  %total{cell} = call {kind} {function}({operands})")
        return [
            *lines,
            "  %next = add nuw i64 %i, 1",
            "  %again = icmp ult i64 %next, %count",
            "  br i1 %again, label %loop, label %exit",
        ]

    def _exit(self) -> list[str]:
        stores = [
            f"  store {self._vector} %total{row}_{column}, ptr %cell{row}_{column}, align {self._size}"
            for row, column in self._cells
        ]
        return ["exit:", *stores, "  ret void"]


def _product(shape: Shape, size: int) -> str:
    """Return the function that makes rows `start` to `stop` of a product, tile by tile."""
    width = shape.lanes * size
    lines = [
        f"define void @{PRODUCT}(i64 %start, i64 %stop, ptr %varying, ptr %fixed) {{",
        "entry:",
    ]
    lines += [
        *named_slots(SLOTS, pointers=5),
        "  br label %repeat",
        "repeat:",
        "  %time = phi i64 [0, %entry], [%time_after, %repeat_end]",
        *[
            line
            for name in ("left", "right", "result")
            for line in (
                f"  %{name}_by = mul i64 %time, %{name}_step",
                f"  %this_{name} = getelementptr i8, ptr %{name}, i64 %{name}_by",
            )
        ],
        "  br label %block",
        "block:",
        "  %done = phi i64 [0, %repeat], [%done_after, %block_end]",
        "  %left_over = sub i64 %count, %done",
        f"  %short = icmp ult i64 %left_over, {2 * shape.terms}",
        f"  %some = select i1 %short, i64 %left_over, i64 {shape.terms}",
        "  %done_after = add i64 %done, %some",
        "  %more = or i64 %done, %resumed",
        "  %own_terms = getelementptr {i64, i64}, ptr %terms, i64 %done",
        "  br label %panel",
        "panel:",
        "  %column = phi i64 [0, %block], [%column_after, %panel_end]",
        "  %columns = sub i64 %vectors, %column",
        # panels are as wide as each other, or one vector wider: none is left with a single one
        *_quotient("panels", "%columns", str(shape.vectors)),
        *_quotient("wide", "%columns", "%panels"),
        "  %column_after = add i64 %column, %wide",
        f"  %offset = mul i64 %column, {width}",
        "  %own_right = getelementptr i8, ptr %this_right, i64 %offset",
        "  %own_result = getelementptr i8, ptr %this_result, i64 %offset",
    ]
    widths = range(1, shape.vectors + 1)
    others = "  ".join(f"i64 {number}, label %wide{number}" for number in widths[1:])
    lines.append(f"  switch i64 %wide, label %wide1 [{others}]")
    for number in widths:
        lines += _rows_of_tiles(number, shape.heights(number))
    lines += [
        "panel_end:",
        "  %more_columns = icmp ult i64 %column_after, %vectors",
        "  br i1 %more_columns, label %panel, label %block_end",
        "block_end:",
        "  %more_terms = icmp ult i64 %done_after, %count",
        "  br i1 %more_terms, label %block, label %repeat_end",
        "repeat_end:",
        "  %time_after = add i64 %time, 1",
        "  %once_more = icmp ult i64 %time_after, %times",
        "  br i1 %once_more, label %repeat, label %exit",
        "exit:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _quotient(name: str, dividend: str, divisor: str) -> list[str]:
    """Return the division of one number by another, rounded up."""
    return [
        f"  %before_{name} = add i64 {dividend}, {divisor}",
        f"  %most_{name} = sub i64 %before_{name}, 1",
        f"  %{name} = udiv i64 %most_{name}, {divisor}",
    ]


def _rows_of_tiles(wide: int, heights: list[int]) -> list[str]:
    """Return the loop over rows for tiles of so many vectors."""
    factors = f"ptr %this_left, ptr %own_rows{wide}, ptr %own_terms, i64 %some, ptr %own_right"
    call = f"  call void @tile_{{name}}({factors}, ptr %own_result, i64 %more)"
    return rows_of_tiles(wide, heights, "{i64, i64}", (), call)
