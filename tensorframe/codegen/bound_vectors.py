"""Vectors in WGSL: operands are bound as arrays of vectors, see `wide_loops.py`.

WGSL has no pointers that could see an element here and a vector there: a kernel sees an operand in one way. So there
are two texts of it. The one with vectors is launched where its `multiples` say that every vector begins at a multiple
of its size; elements that it reads alone are components. Threads that write into one vector would race, so a result
is bound as vectors only if all of it is written in runs, of which no two share a vector. What threads read ahead for
products may end within a vector, at the edge of a factor: they find out whether they read a whole one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence

from tensorframe.codegen.neighbours import Run, reads_at_once
from tensorframe.codegen.printer import indented
from tensorframe.codegen.wgsl_names import allowed
from tensorframe.codegen.wide_loops import WIDEST, WideLoops
from tensorframe.codegen.words import origin, parameters
from tensorframe.kernel import ir
from tensorframe.kernel.ir.walk import expressions, in_order

_MOST = 4  # components of a vector
_BYTES = {"f16": 2, "f32": 4, "i32": 4, "u32": 4, "f64": 8, "i64": 8, "u64": 8}


class BoundVectors(WideLoops):
    """Prints loops that have a width, with operands that are bound as vectors."""

    def __init__(self, kernel: ir.Kernel, *, vectors: bool) -> None:
        """Without `vectors` loops have no width."""
        super().__init__(kernel)
        self._word_of = {parameter.name: parameter.word for parameter in parameters(kernel)}
        self._components: dict[ir.Buffer, int] = {}
        # what a wide access has read, or will write -> the element of a vector that it is now
        self._elements: dict[tuple[ir.Buffer, ir.Expr], str] = {}
        self.multiples: dict[tuple[int, int], None] = {}
        """Words of a launch, and what they have to be multiples of; none where nothing is bound as vectors."""
        self._bind(vectors=vectors)
        if vectors:
            self._bind_reads()

    @abstractmethod
    def stored(self, buffer: ir.Buffer) -> str:
        """Return the type of an element in memory."""

    @abstractmethod
    def begun(self, axis: ir.ParallelAxis) -> tuple[str, str]:
        """Return the first index of a thread, or of a group, and how many there are."""

    def bound(self, buffer: ir.Buffer) -> str:
        """Return the type that a buffer is an array of."""
        components = self._components.get(buffer)
        kind = self.stored(buffer)
        return kind if components is None else f"vec{components}<{kind}>"

    def element(self, buffer: ir.Buffer, position: ir.Expr, number: str) -> str:
        """Return the element of a buffer at a position, which has this number in memory."""
        if (buffer, position) in self._elements:
            return self._elements[buffer, position]
        return self._numbered(buffer, number)

    def _numbered(self, buffer: ir.Buffer, number: str) -> str:
        name, components = allowed(buffer.name), self._components.get(buffer)
        if components is None:
            return f"{name}[{number}]"
        return f"{name}[({number}) / {components}u][({number}) % {components}u]"

    def _bind(self, *, vectors: bool) -> None:
        """Choose what is bound as vectors, leave other runs out, and note what has to be a multiple of what."""
        kept = {
            loop: [run for run in wide.runs if self._is_known(run, loop)]
            for loop, wide in self.wide.items()
            if vectors
        }
        by_runs = Counter(run.buffer for runs in kept.values() for run in runs)
        roots, stores = expressions(self.kernel.body)
        alone = Counter(store.buffer for store in stores) - by_runs
        read = {part.buffer for part in in_order(roots, ()) if isinstance(part, ir.Load)}
        scalar = {output for output in self.kernel.outputs if output in alone or output in read}
        wide, self.wide = self.wide, {}
        for loop, runs in kept.items():
            runs = [run for run in runs if run.buffer not in scalar]
            if not runs:
                continue
            self.wide[loop] = wide[loop]._replace(runs=runs)
            for run in runs:
                most = self._most(run.buffer, loop)
                self._components[run.buffer] = min(most, self._components.get(run.buffer, most))
            for word, size in self._needed(loop, runs):
                self.multiples[word, size] = None

    def _bind_reads(self) -> None:
        """Bind what threads read several elements of, and note what has to be a multiple for all to be vectors."""
        for read, steps in reads_at_once(self.kernel).items():
            count = len(read.variables)
            self._components[read.source] = min(count, self._components.get(read.source, count))
            for name in (origin(read.source.name), *[step.name for step in steps]):
                self.multiples[self._word_of[name], count] = None

    def _most(self, buffer: ir.Buffer, loop: ir.Loop) -> int:
        """Return how many components the vectors may have that a loop accesses."""
        return min(WIDEST // _BYTES[self.stored(buffer)], _MOST, loop.width)

    def _size(self, run: Run, loop: ir.Loop) -> int:
        """Return what positions have to be multiples of: of all that a thread takes where rows may end between."""
        return loop.width if loop.over is ir.ParallelAxis.GRID else self._most(run.buffer, loop)

    def _is_known(self, run: Run, loop: ir.Loop) -> bool:
        """Whether a launch knows by its words if a run's vectors begin at multiples of their size.

        Pairs are vectors themselves.
        """
        return run.buffer.dtype != ir.PAIR and all(
            number.name in self._word_of
            if isinstance(number, ir.Argument)
            else isinstance(number, ir.Literal)
            and int(number.value.real) % self._size(run, loop) == 0
            for number in run.multiples
        )

    def _needed(self, loop: ir.Loop, runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
        for run in runs:
            size = self._size(run, loop)
            if run.buffer.role is ir.Role.INPUT:
                yield self._word_of[origin(run.buffer.name)], self._most(run.buffer, loop)
            for number in run.multiples:
                if isinstance(number, ir.Argument):
                    yield self._word_of[number.name], size

    def read(self, read: ir.ReadNeighbours) -> list[str]:
        """Return the lines that read neighbouring elements: a vector, if all of one are there, else one by one."""
        names = [self.name(variable.name) for variable in read.variables]
        buffer, count = allowed(read.source.name), len(names)
        first, zero = self._first(read.source, read.position), ir.literal(0, read.source.dtype)
        alone = [
            f"if ({number}u < valid) {{ {name} = {self._numbered(read.source, f'first + {number}u')}; }} "
            f"else {{ {name} = {self.text(zero)}; }}"
            for number, name in enumerate(names)
        ]
        if self._components.get(read.source) == count:
            alone = [
                f"if (valid == {count}u && first % {count}u == 0u) {{",
                f"    let together = {buffer}[first / {count}u];",
                *[f"    {name} = together[{number}];" for number, name in enumerate(names)],
                "} else {",
                *indented(alone),
                "}",
            ]
        lines = [f"let first = {first};", f"let valid = {self.text(read.valid)};", *alone]
        return ["{", *indented(lines), "}"]

    def _first(self, buffer: ir.Buffer, position: ir.Expr) -> str:
        """Return the number in memory of an element at a position from a buffer's origin."""
        first = self.text(position)
        return (
            f"{allowed(origin(buffer.name))} + {first}" if buffer.role is ir.Role.INPUT else first
        )

    def few(self, loop: ir.Loop, runs: Sequence[Run]) -> list[str]:
        """Return a loop of at most so many iterations as its width: all at once, or one after the other."""
        alone = self.block(loop.body)
        index = self.name(loop.index.name)
        return [
            f"if ({self.text(loop.stop)} == {loop.width}u) {{",
            *indented(self._at_once(loop, runs, index)),
            "} else {",
            *indented([f"{self.head(loop)} {{", *indented(alone), "}"]),
            "}",
        ]

    def over_grid(self, loop: ir.Loop, runs: Sequence[Run], _first: ir.Index) -> list[str]:
        """Return a loop over the grid whose threads take so many iterations at once; the first one takes the rest."""
        alone = self.block(loop.body)
        index, width, stop = self.name(loop.index.name), loop.width, self.text(loop.stop)
        begin, step = self.begun(loop.over)
        return [
            f"let vectors = {stop} / {width}u;",
            f"for (var vector = {begin}; vector < vectors; vector += {step}) {{",
            f"    let first = vector * {width}u;",
            *indented(self._at_once(loop, runs, "part", f"let {index} = first + part;")),
            "}",
            f"if ({begin} == 0u) {{",  # alone: components of one vector are one thread's
            f"    for (var {index} = vectors * {width}u; {index} < {stop}; {index}++) {{",
            *indented(indented(alone)),
            "    }",
            "}",
        ]

    def _at_once(self, loop: ir.Loop, runs: Sequence[Run], index: str, *named: str) -> list[str]:
        """Return the lines that load vectors, compute with their elements, and store vectors."""
        loads, stores = [], []
        elements: dict[tuple[ir.Buffer, ir.Expr], str] = {}
        for number, run in enumerate(runs):
            buffer, components = allowed(run.buffer.name), self._components[run.buffer]
            name, place = f"{buffer}_vector{number}", f"{buffer}_place{number}"
            count = loop.width // components
            loads.append(f"let {place} = ({self._first(run.buffer, run.first)}) / {components}u;")
            places = [f"{buffer}[{place} + {turn}u]" for turn in range(count)]
            kind = f"array<{self.bound(run.buffer)}, {count}>"
            if run.buffer.role is ir.Role.INPUT:
                loads.append(f"var {name} = {kind}({', '.join(places)});")
            else:
                loads.append(f"var {name}: {kind};")
                stores += [f"{memory} = {name}[{turn}];" for turn, memory in enumerate(places)]
            elements[run.buffer, run.position] = (
                f"{name}[{index} / {components}u][{index} % {components}u]"
            )
        self._elements = elements
        together = [*named, *self.block(loop.body)]
        self._elements = {}
        head = f"for (var {index} = 0u; {index} < {loop.width}u; {index}++) {{"
        return [*loads, head, *indented(together), "}", *stores]
