"""Kernels of work-groups as C, in the words of a dialect: OpenCL C, CUDA C++, or another package's."""

from __future__ import annotations

import re
from functools import lru_cache

from tensorframe.codegen.c_dialect import Dialect
from tensorframe.codegen.c_expressions import PAIR, CExpressions, grouped
from tensorframe.codegen.pointer_vectors import PointerVectors, Side, alignment_of
from tensorframe.codegen.printer import indented
from tensorframe.codegen.text import Text
from tensorframe.codegen.words import origin, parameters
from tensorframe.digests import sha256
from tensorframe.dtypes import FLOAT, NARROW, DType, bool_, float64, wide_of
from tensorframe.kernel import ir
from tensorframe.quick_tuples import NamedTuple

# The type of pairs, and what makes one.
_PAIRS = """\
typedef struct { float high, low; } two_floats;
HELPER two_floats two_floats_of(float high, float low) {
    two_floats pair;
    pair.high = high;
    pair.low = low;
    return pair;
}
"""
_WORD = re.compile(r"[a-z_]\w*")
# Bytes at a multiple of which memory of a launch begins for each array.
_ALIGNED = 16
# Texts that are remembered: of kernels that are built for one layout of operands after the other.
_KEPT = 32


@lru_cache(_KEPT)
def print_kernel(kernel: ir.Kernel, dialect: Dialect) -> Text:
    """Return a kernel as a function of a dialect, with all that it needs."""
    return _Printer(kernel, dialect).printed()


class _Share(NamedTuple):
    """Memory that a group shares: its type, name and count in words, and its bytes where they are known."""

    spelled: dict[str, str]
    size: int | None


class _Printer(CExpressions, PointerVectors):
    def __init__(self, kernel: ir.Kernel, dialect: Dialect) -> None:
        PointerVectors.__init__(self, kernel)
        CExpressions.__init__(self, dialect)
        if dialect.vectorizes_threads:  # branches that threads take once are in the way of that
            self.wide = {
                loop: wide for loop, wide in self.wide.items() if wide.first or wide.is_repeated
            }
        self._shares: dict[str, _Share] = {}
        self._barrier = [dialect.barrier]
        self.lane, self.grid = dialect.lane, dialect.grid

    def printed(self) -> Text:
        kernel, dialect = self.kernel, self._dialect
        block = self.block(kernel.body)
        dynamic_shared = self._moved_to_dynamic()
        lines = [
            *[f"// {note}" for note in kernel.notes],
            *[
                self._parameter(parameter.name, parameter.dtype, parameter.word)
                for parameter in parameters(kernel)
            ],
            *self.vectors.values(),
            *self.shared.values(),
            *[f"{kind} {name};" for name, kind in self.declared.items()],
            *block,
        ]
        body = "".join(f"    {line}\n" for line in lines)
        operands = [
            dialect.operand.format(
                const="" if buffer.role is ir.Role.OUTPUT else "const ",
                type=self._stored(buffer.dtype),
                name=buffer.name,
            )
            for buffer in (*kernel.inputs, *kernel.outputs)
        ]
        last = parameters(kernel)[-1]
        shape = {"operands": ", ".join(operands), "count": last.word + last.words}
        occupancy = dialect.occupancy.format(groups=kernel.occupancy) if kernel.occupancy else ""
        threads = f"{kernel.lanes}{occupancy}"
        name = "k_" + sha256(f"{shape}{threads}{body}".encode()).hexdigest()[:16]
        shape |= {"words": f"words_of_{name}", "argument": "w"}
        signature = dialect.signature.format(
            name=name, lanes=kernel.lanes, occupancy=occupancy, **shape
        )
        helpers = "".join(self._helpers(body))
        source = f"{dialect.prelude}{helpers}\n{signature}\n{{\n{body}}}\n"
        return Text(name, source, dynamic_shared)

    def _helpers(self, text: str) -> list[str]:
        """Return the functions that a text needs, those that they need before them."""
        known = {PAIR: _PAIRS, **self._dialect.helpers, **self._own}
        helpers: dict[str, None] = {}

        begun: set[str] = set()  # one that is spelled in two ways has its own name in it

        def need(text: str) -> None:
            for name in dict.fromkeys(_WORD.findall(text)):
                if name in known and name not in begun:
                    begun.add(name)
                    need(known[name].partition("{")[2])
                    helpers[name] = None

        need(text)
        return [known[name] for name in helpers]

    def _parameter(self, name: str, dtype: DType, word: int) -> str:
        kind = self.type(dtype)
        first = f"w.at[{word}]"
        if dtype.itemsize == 8:
            wide = self._dialect.types["uint64"]
            first = f"(({wide})w.at[{word + 1}] << 32 | ({wide}){first})"
            value = f"as_float64({first})" if dtype == float64 else f"({kind}){first}"
        elif dtype in FLOAT:
            value = f"as_float32({first})"
        else:
            value = f"{first} != 0" if dtype == bool_ else f"({kind}){first}"
        return f"const {kind} {name} = {value};"

    def _stored(self, dtype: DType) -> str:
        """Return the type of an element in memory; narrow dtypes are their bits."""
        if dtype == ir.PAIR:
            return PAIR
        stored = self._dialect.stored.get(dtype.name)
        return stored or self._dialect.types[f"uint{8 * dtype.itemsize}"]

    @property
    def barrier(self) -> str:
        """The statement at which threads wait for each other."""
        return self._dialect.barrier

    def subgroup(self, _dtype: DType) -> int:
        """Return how many neighbouring threads read each other's values."""
        return self._dialect.subgroup

    def shuffled(self, name: str, lane: str, width: int) -> str:
        """Return a value of a neighbour."""
        return f"shuffled({name}, {lane}, {width}u)"

    def copy(self, copy: ir.CopyNeighbours) -> list[str]:
        """Return the call that copies neighbouring elements to shared memory; barriers wait for it from here on."""
        if not self._dialect.copied:
            return super().copy(copy)
        self._barrier = [self._dialect.copied, self._dialect.barrier]
        source = copy.source.name
        to = f"{copy.buffer.name} + {grouped(self.text(copy.position))}"
        first = f"{source} + ({origin(source)} + {self.text(copy.source_position)})"
        return [f"copy_neighbours({to}, {first}, {self.text(copy.valid)});"]

    def read(self, read: ir.ReadNeighbours) -> list[str]:
        """Return the lines that read neighbouring elements by one access where it is aligned, else one by one."""
        names = [self.name(variable.name) for variable in read.variables]
        side, count = self.side(read.source, len(names)), len(names)
        zero = self.literal(ir.literal(0, read.source.dtype))
        place = f"{side.buffer} + ({side.origin}{self.text(read.position)})"
        together = [f"{name} = together.at[{number}];" for number, name in enumerate(names)]
        alone = [
            f"{name} = {number}u < valid ? first[{number}] : {zero};"
            for number, name in enumerate(names)
        ]
        kind = self._stored(read.source.dtype)
        pointer = self._dialect.pointer.format(const="const ", type=kind)
        aligned = f"({self._dialect.address})first % {side.alignment}u == 0u"
        lines = [
            f"{pointer} first = {place};",
            f"const {self._dialect.types['uint32']} valid = {self.text(read.valid)};",
            f"if (valid == {count}u && {aligned}) {{",
            f"    const {side.type} together = *{side.pointer}first;",
            *indented(together),
            "} else {",
            *indented(alone),
            "}",
        ]
        return ["{", *indented(lines), "}"]

    def multiply(self, product: ir.MultiplyTiles) -> list[str]:
        """Return the calls that read tiles of both factors, and those that multiply each with each."""
        if not self._dialect.copied:
            return super().multiply(product)
        depth = f"multiply_tiles_{product.dtype.name}"
        lines = [self._tile("left", row, ir.TILE_ROWS, product.left) for row in range(product.rows)]
        lines += [
            self._tile("right", column, ir.TILE_COLUMNS, product.right)
            for column in range(product.columns)
        ]
        for tile in range(len(product.totals) // 4):
            row, column = divmod(tile, product.columns)
            totals = ", ".join([total.name for total in product.totals[4 * tile : 4 * tile + 4]])
            lines.append(f"{depth}({totals}, left_tile{row}, right_tile{column});")
        return ["{", *indented(lines), "}"]

    def _tile(self, side: str, number: int, lines: int, tile: ir.Tile) -> str:
        """Return the declaration of one tile of a factor, so many lines of it behind the one before."""
        step = number * lines * (tile.pitch if tile.inside else 1)
        place = f"{tile.buffer.name} + ({self.text(tile.position)} + {step}u)"
        inside = "true" if tile.inside else "false"
        return f"const {side}_tile {side}_tile{number}({place}, {tile.pitch}u, {inside});"

    def wait(self, _one: ir.Barrier) -> list[str]:
        """Return a barrier, behind all that threads copy."""
        return self._barrier

    def let(self, let: ir.Let) -> list[str]:
        """Return the declaration of a constant."""
        return [
            f"const {self.type(let.variable.dtype)} {let.variable.name} = {self.text(let.value)};"
        ]

    def loop(self, loop: ir.Loop) -> list[str]:
        """Return a loop, which compilers leave as it is if it says so."""
        lines = super().loop(loop)
        return ["#pragma unroll 1", *lines] if loop.rolled else lines

    def head(self, loop: ir.Loop) -> str:
        """Return what a loop begins with, up to its brace."""
        kind, name = self.type(loop.index.dtype), loop.index.name
        first, last = self.text(loop.start), self.text(loop.stop)
        dialect = self._dialect
        if loop.over is ir.ParallelAxis.NOTHING:
            return f"for ({kind} {name} = {first}; {name} < {last}; ++{name})"
        if loop.over is ir.ParallelAxis.LANES:
            begin, step = f"{first} + {dialect.lane}", str(self.kernel.lanes)
        else:
            begin, step = dialect.grid if loop.over is ir.ParallelAxis.GRID else dialect.groups
            last = ir.STOP.name
        return f"for ({kind} {name} = {begin}; {name} < {last}; {name} += {step})"

    def share(self, buffer: ir.Buffer, count: ir.Expr | int) -> None:
        """Declare memory of a group."""
        number = str(count) if isinstance(count, int) else self.text(count)
        spelled = {"type": self.type(buffer.dtype), "name": buffer.name, "count": number}
        self.shared[buffer.name] = self._dialect.shared.format(**spelled)
        if isinstance(count, ir.Literal):
            count = int(count.value.real)
        size = count * wide_of(buffer.dtype).itemsize if isinstance(count, int) else None
        self._shares[buffer.name] = _Share(spelled, size)

    def _moved_to_dynamic(self) -> int:
        """Return the bytes that the launch has to bring, and have all that a group shares be there; 0 for few."""
        how = self._dialect.dynamic_shared
        sizes = [share.size or 0 for share in self._shares.values()]
        if how is None or sum(sizes) <= how.beyond or 0 in sizes:
            return 0
        first = 0
        for name, share in self._shares.items():
            self.shared[name] = how.part.format(first=first, **share.spelled)
            first += -(-(share.size or 0) // _ALIGNED) * _ALIGNED
        self.shared = {"": how.declaration.format(bytes=first), **self.shared}
        return first

    def store(self, statement: ir.Store) -> list[str]:
        """Return an assignment to an element."""
        buffer, value = statement.buffer, self.text(statement.value)
        place = self.place(buffer, statement.position)
        name, position = place or (buffer.name, self.text(statement.position))
        if buffer.role is ir.Role.SHARED or buffer.dtype not in NARROW:
            return [f"{name}[{position}] = {value};"]
        _, store = self._narrow(buffer.dtype)
        return [store.format(buffer=name, at=position, value=value) + ";"]

    def side(self, buffer: ir.Buffer, width: int) -> Side:
        """Return how so many elements of a buffer are read or written at once."""
        stored = self._stored(buffer.dtype)
        kind = f"{stored.replace(' ', '_')}_x{width}"
        alignment = alignment_of(buffer.dtype, width)
        declaration = self._dialect.vector.format(
            name=kind, type=stored, count=width, bytes=alignment
        )
        self.vectors[kind] = declaration
        is_input = buffer.role is ir.Role.INPUT
        before = f"{origin(buffer.name)} + " if is_input else ""
        first = f"({buffer.name} + {origin(buffer.name)})" if is_input else buffer.name
        pointer = self._dialect.pointer.format(const="const " if is_input else "", type=kind)
        address = f"({self._dialect.address}){first}"
        return Side(kind, buffer.name, before, f"({pointer})", first, address, alignment)

    def _narrow(self, dtype: DType) -> tuple[str, str]:
        """Return how an element of a narrow dtype is loaded, and how it is stored."""
        name = dtype.name
        by_bits = (
            f"{name}_of_bits({{buffer}}[{{at}}])",
            f"{{buffer}}[{{at}}] = bits_of_{name}({{value}})",
        )
        return self._dialect.narrow.get(name, by_bits)

    def load(self, expr: ir.Load) -> str:
        """Return an element of a buffer, as it is held."""
        buffer = expr.buffer
        place = self.place(buffer, expr.position)
        name, position = place or (buffer.name, self.text(expr.position))
        if buffer.role is ir.Role.INPUT and place is None:
            position = f"{origin(buffer.name)} + {position}"
        if buffer.role is ir.Role.SHARED or buffer.dtype not in NARROW:
            return f"{name}[{position}]"
        load, _ = self._narrow(buffer.dtype)
        return load.format(buffer=name, at=position)
