"""Elementwise ops of other packages: a formula, and what else there is to know of it, as a row of the package's own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from difflib import get_close_matches
from types import FunctionType
from typing import Any

from tensorframe.backends.contract import About
from tensorframe.backends.extension_points import OPS
from tensorframe.backends.languages import is_known, language_names
from tensorframe.codegen.raw.names import refusal
from tensorframe.dtypes import DType
from tensorframe.errors import ArgumentError, DeviceError, TracingError
from tensorframe.frontend.user_functions.elementwise import Elementwise, Rows
from tensorframe.frontend.user_functions.rules import ElementwiseRule
from tensorframe.frontend.user_functions.scalar import ValueNeededError
from tensorframe.frontend.user_functions.side_effects import refuse_side_effects
from tensorframe.graph.op import Op
from tensorframe.ops.printed import printed
from tensorframe.ops.user import Formula, user_row

_DIALECT = re.compile(r"[a-z][a-z0-9_]*\Z")


class ElementwiseOp(Elementwise):
    """An elementwise op of a package's own; called with tensors, it records one row.

    Parameters
    ----------
    definition
        A Python function of scalars, as `tfr.elementwise` takes it: what the op means, on every device. Its
        parameters are the operands, without defaults; it gives one number.
    name
        The name in plans, and that of the entry point in the group `tensorframe.ops`; the function's own if left out.
    reference
        The same as a function of NumPy arrays, or of Python numbers, computed in another way: what
        `tensorframe.testing.conformance.check_op` compares every device with.
    vjp
        The rule of its gradient, `vjp(args, out, ct)`, in functions of tensors; without it, the definition's.
    printers
        What computes an element in the languages of devices, in place of the definition: `"opencl"`, `"cuda"`,
        `"wgsl"` or that of a dialect, to the body of a function that returns the element. Parameters have their names,
        and `T` is the dtype. It is used for operands and results of one floating dtype.
    about
        For which version of the interface it was written, and by whom.

    Raises
    ------
    ArgumentError
        For a definition with defaults or side effects, a language that there is not, or a name that it reserves.

    Examples
    --------
    >>> from tensorframe.extensions import ElementwiseOp
    >>> def lorentz(x, width):
    ...     return width / (x * x + width * width)
    >>> op = ElementwiseOp(lorentz, printers={"opencl": "return width / fma(x, x, width * width);"})
    >>> op(tfr.asarray([0.0, 1.0]), 2.0).tolist()
    [0.5, 0.4000000059604645]

    """

    _is_recorded_whole = True

    def __init__(
        self,
        definition: Any,
        *,
        name: str | None = None,
        reference: Any = None,
        vjp: Any = None,
        printers: Mapping[str, Any] | None = None,
        about: About | None = None,
    ) -> None:
        if not isinstance(definition, FunctionType):
            got = type(definition).__name__
            raise ArgumentError(f"ElementwiseOp: the definition is a function, got {got}")
        refuse_side_effects(definition)
        super().__init__(definition, name, frozenset())
        self.name = self._title
        self.about = about
        self.reference = reference
        operands = inspect.signature(definition).parameters
        for parameter in operands.values():
            if parameter.default is not parameter.empty:
                raise ArgumentError(
                    f"{self.name}: {parameter} has a default, and every parameter is an operand",
                    suggestions=("a function of yours that calls the op with it",),
                )
        for what, function in (("reference", reference), ("vjp", vjp)):
            if function is not None and not callable(function):
                got = type(function).__name__
                raise ArgumentError(f"{self.name}: {what} is a function, got {got}")
        self._vjp = None if vjp is None else ElementwiseRule(self.name, vjp)
        bodies = _checked(self.name, printers or {}, tuple(operands))
        self._printed = printed(self.name, tuple(operands), bodies) if bodies else None

    def _recorded(
        self, names: tuple[str, ...], operands: tuple[DType, ...], constants: dict[str, Any]
    ) -> Rows:
        rows = super()._recorded(names, operands, constants)
        if rows.is_tuple:
            raise ArgumentError(
                f"{self.name}: an op has one result, and its definition gives {len(rows.rows)}",
                suggestions=("an op for each",),
            )
        return rows

    def _compiled(
        self,
        operands: dict[str, DType],  # noqa: ARG002 - of functions that may be compiled
        constants: dict[str, Any],  # noqa: ARG002
        asked: ValueNeededError,
    ) -> Rows:
        raise TracingError(
            f"{self.name}: {asked.message}, and the definition of an op is a formula",
            suggestions=asked.suggestions,
            location=asked.location,
        )

    def _row(self, formula: Formula) -> Op:
        return user_row(formula, inspect.getdoc(self) or "", self._vjp, self._printed)

    def __reduce__(self) -> Any:
        return (_announced, (self.name,)) if self.name in OPS.names() else super().__reduce__()

    def __repr__(self) -> str:
        return f"<tensorframe op {self.name}{self._signature}>"


def _checked(name: str, printers: Mapping[str, Any], operands: tuple[str, ...]) -> dict[str, str]:
    """Return the bodies by language; ArgumentError for what no device could compile."""
    for language, body in printers.items():
        _check_language(name, language)
        if not isinstance(body, str):
            got = type(body).__name__
            raise ArgumentError(f"{name}: the body in {language} is a text, got {got}")
    languages = list(filter(is_known, printers))
    for operand in operands if printers else ():
        reason = refusal(operand, languages) if operand != "T" else "'T' is the dtype"
        if reason is not None:
            raise ArgumentError(f"{name}: {reason}", suggestions=("another name",))
    return dict(printers)


def _check_language(name: str, language: Any) -> None:
    """Raise ArgumentError for what is no language of devices; a dialect may be of a package that is not here."""
    if language == "cpu":
        hints = ("printers without it",)
        raise ArgumentError(f"{name}: the cpu compiles the definition", suggestions=hints)
    known = language_names()
    if language in known:
        return
    is_name = isinstance(language, str) and _DIALECT.match(language) is not None
    near = get_close_matches(str(language).lower(), known, cutoff=0.8)
    if not is_name or near:
        hints = (f"{near[0]!r}",) if near else (f"any of {', '.join(known)}",)
        raise ArgumentError(f"{name}: no device runs {language!r}", suggestions=hints)


def _announced(name: str) -> ElementwiseOp:
    """Return the op that an installed package announces, in another process."""
    extension = OPS.extension(name)
    if extension is None or extension.value is None:
        problem = "no package here brings it" if extension is None else extension.failure
        raise DeviceError(f"the op {name!r} is of no use: {problem}")
    op: ElementwiseOp = extension.value
    return op


__all__ = ["ElementwiseOp"]
