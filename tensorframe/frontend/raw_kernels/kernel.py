"""`raw_kernel`: a body in the languages of devices becomes an op, with a signature made of names, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tensorframe.errors import ArgumentError
from tensorframe.frontend.raw_kernels.binding import Bound
from tensorframe.frontend.raw_kernels.checks import (
    AXES,
    check_entries,
    check_function,
    check_names,
    check_sizes,
    checked_sources,
)
from tensorframe.frontend.raw_kernels.declaration import Entry, entries
from tensorframe.frontend.raw_kernels.reference import Reference
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.op import Op
from tensorframe.graph.record import record
from tensorframe.ops.raw_kernels import parts_of
from tensorframe.site import describe, raising_site

__all__ = ["raw_kernel"]

Sizes = Mapping[str, Any]


def raw_kernel(
    name: str,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    *,
    source: Mapping[str, str | Callable[..., Any]],
    grid: Sizes | None = None,
    group: int | Sequence[int] | None = None,
    shared: Mapping[str, str] | None = None,
    static: Sequence[str] = (),
    reference: Callable[..., Any] | None = None,
    vjp: Callable[..., Any] | None = None,
) -> RawKernel:
    """Return an op whose kernels you write: bodies in CUDA C++, OpenCL C, WGSL, and a Python function for the cpu.

    The body is the work of one thread. The signature, the indices and the type names are generated from the
    declarations: `inputs` and `outputs` map names to `"float32[rows, 3]"` (an array in C order), `"T[n]"` (an array of
    any dtype, which the source calls `T`) or `"int32"` (a scalar). The body uses the arrays, scalars, sizes (`rows`,
    `n`) and its own index by these names; sizes and indices are 32-bit integers. Elements that no thread writes are
    undefined.

    `grid` maps each index to its number of values, an integer or an expression of sizes; the last index runs over
    neighbouring threads. By default the indices are `i`, `j`, `k`, `l` over the axes of the first output. With `group`,
    threads form work-groups: every thread of a group runs the body, including those beyond the edge of the grid, and
    the body has `i_local` and `i_group` beside `i`. `shared` declares memory that a work-group shares, in the form of
    `inputs`. `static` names scalars that are compiled into the source as constants.

    `source` maps `"cuda"`, `"opencl"` and `"wgsl"` to texts, and `"cpu"` to a Python function, which Numba compiles
    (`pip install tensorframe-lazy[numba]`). Its parameters are any of the names: a function with index parameters runs
    for each index, a function without them runs once. `reference` is an equivalent function of tensors, called with the
    inputs by name. It runs on devices without a source, and `grad`, `vmap`, `verify` and `estimate` use it. For
    the gradient alone, `vjp(args, out, ct)` returns the cotangent of each input, as with `tfr.custom_gradient`.

    Calls take tensors of the declared dtypes and numbers, and return a tensor, or a tuple of several.

    ArgumentError if a declaration or a source is malformed. ShapeError if the shape of an operand does not fit its
    declaration. DTypeError if a declared dtype is not known, or that of an operand does not fit. KernelError if a
    source does not compile; the error shows the line of the source.

    >>> def scale_and_add(i, a, x, y, out):
    ...     out[i] = a * x[i] + y[i]
    >>> body = "out[i] = a * x[i] + y[i];"
    >>> saxpy = tfr.raw_kernel(
    ...     "saxpy",
    ...     {"a": "float32", "x": "float32[n]", "y": "float32[n]"},
    ...     {"out": "float32[n]"},
    ...     source={"cpu": scale_and_add, "cuda": body, "opencl": body, "wgsl": body},
    ...     reference=lambda a, x, y: a * x + y,
    ... )
    >>> saxpy(2.0, tfr.arange(3, dtype="float32"), tfr.ones(3)).tolist()
    [1.0, 3.0, 5.0]
    """
    return RawKernel(name, inputs, outputs, source, grid, group, shared, static, reference, vjp)


class RawKernel:
    """An op of a user's own kernels; see `raw_kernel`."""

    def __init__(
        self,
        name: str,
        inputs: Any,
        outputs: Any,
        source: Any,
        grid: Any,
        group: Any,
        shared: Any,
        static: Any,
        reference: Any,
        vjp: Any,
    ) -> None:
        if not isinstance(name, str):
            raise ArgumentError(f"raw_kernel: the name is a string, got {type(name).__name__}")
        self.name = name
        self.sources = checked_sources(name, source)
        self.inputs = entries(name, "input", inputs)
        self.outputs = entries(name, "output", outputs)
        self.shared = entries(name, "shared", shared or {})
        self.static = (static,) if isinstance(static, str) else tuple(static)
        check_entries(name, self.inputs, self.outputs, self.static)
        self.grid = self._grid(grid)
        self.group = self._group(group)
        self._check()
        for what, function in (("reference", reference), ("vjp", vjp)):
            if function is not None and not callable(function):
                raise ArgumentError(f"{name}: {what} is a function, got {type(function).__name__}")
        self.reference = None if reference is None else Reference(reference)
        self.vjp = vjp
        self.place = describe(raising_site())

    def _grid(self, grid: Any) -> tuple[tuple[str, str], ...]:
        if grid is None:
            sizes = self.outputs[0].sizes or ("1",)
            if len(sizes) > len(AXES):
                raise ArgumentError(
                    f"{self.name}: the first output has {len(sizes)} axes",
                    suggestions=('grid={"i": ...}, with a name for each index',),
                )
            return tuple(zip(AXES, sizes, strict=False))
        if not isinstance(grid, Mapping) or not grid:
            raise ArgumentError(
                f"{self.name}: grid is a mapping of indices to how many there are, got {grid!r}",
                suggestions=('grid={"row": "rows", "column": "columns"}',),
            )
        return tuple([(index, str(size)) for index, size in grid.items()])

    def _group(self, group: Any) -> tuple[int, ...] | None:
        if group is None:
            if self.shared:
                raise ArgumentError(
                    f"{self.name}: shared memory is of groups",
                    suggestions=("group=(...), the threads of a group along each index",),
                )
            return None
        sizes = (group,) if isinstance(group, int) else tuple(group)
        valid = all(type(size) is int and size > 0 for size in sizes)
        if not valid or len(sizes) != len(self.grid):
            raise ArgumentError(
                f"{self.name}: group is the threads along each of {len(self.grid)} indices, got {group!r}",
                suggestions=(f"{len(self.grid)} positive numbers",),
            )
        return sizes

    def _check(self) -> None:
        """Raise ArgumentError for names and sizes that the sources could not use."""
        sizes = {size for entry in self.inputs for size in entry.sizes or () if size.isidentifier()}
        indices = [index for index, _ in self.grid]
        arrays: list[Entry] = [*self.inputs, *self.outputs]
        types = {entry.variable for entry in self.inputs if entry.variable}
        names = [entry.name for entry in (*arrays, *self.shared)] + sorted(sizes) + indices
        check_names("raw_kernel", [self.name], self.sources)
        ends = () if self.group is None else ("_local", "_group")
        with_ends = [f"{index}{end}" for end in ends for index in indices]
        check_names(self.name, [*names, *with_ends, *sorted(filter(None, types))], self.sources)
        known = frozenset(sizes) | set(self.static)
        for entry in (*self.outputs, *self.shared):
            check_sizes(self.name, entry.name, entry.sizes or (), known)
        check_sizes(self.name, "grid", [size for _, size in self.grid], known)
        function = dict(self.sources).get("cpu")
        if function is not None:
            takes = [entry.name for entry in arrays] + sorted(sizes) + indices
            check_function(self.name, function, takes, indices)

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor | tuple[Tensor, ...]:
        """Record the kernel of operands."""
        bound = Bound(self, self._given(args, kwargs))
        op: Op = bound.row()
        whole = record(op, bound.nodes, device=bound.device)
        call = op.raw
        results = [
            Tensor(node)
            for node in parts_of(
                whole, call, lambda part, node, attrs: record(part, (node,), *attrs)
            )
        ]
        return tuple(results) if len(results) > 1 else results[0]

    def _given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the operands by name; ArgumentError if some are missing, or there are others."""
        names = [entry.name for entry in self.inputs]
        given = dict(zip(names, args, strict=False))
        wrong = [name for name in kwargs if name not in names or name in given]
        missing = [name for name in names if name not in given and name not in kwargs]
        if len(args) > len(names) or wrong or missing:
            said = f"{len(args)} operands" + (f" and {', '.join(kwargs)}" if kwargs else "")
            raise ArgumentError(
                f"{self.name}: takes {', '.join(names)}, got {said}",
                suggestions=(f"{len(names)} operands, by position or name",),
            )
        return given | dict(kwargs)

    def __repr__(self) -> str:
        inputs = ", ".join([_shown(entry) for entry in self.inputs])
        outputs = ", ".join([_shown(entry) for entry in self.outputs])
        languages = ", ".join([language for language, _ in self.sources])
        return f"<tensorframe raw kernel {self.name}({inputs}) -> {outputs}: {languages}>"


def _shown(entry: Entry) -> str:
    sizes = "" if entry.sizes is None else f"[{', '.join(entry.sizes)}]"
    return f"{entry.name}: {entry.dtype}{sizes}"
