"""Data that tensors do not hold: text, dates, records and objects stay NumPy's, and NumPy computes on them.

A program for NumPy has a few arrays of words or records among its numbers. A function of this list that is given such
data, or a dtype of it, hands its arguments to NumPy's function of the same name: what comes back is a tensor where it
holds numbers, and an array of NumPy's where it does not. `asarray` is not among them: it makes tensors, or raises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import CO_VARARGS, CO_VARKEYWORDS
from itertools import takewhile
from types import FunctionType
from typing import Any, Final

import numpy as np

from tensorframe.dtypes import ANY
from tensorframe.errors import ArgumentError, DTypeError

Function = Callable[..., Any]

REFUSED: Final = (DTypeError, ArgumentError)
# calls after which a function takes parameters of its own, which takes as long as some hundred of them save
_OFTEN: Final = 500

# functions of order, equality and position, which mean something to any data, and those that make arrays
TAKING_ANY_DATA: Final = frozenset(
    """
    arange argmax argmin argpartition argsort array array2string array_equal array_equiv array_repr array_split
    array_str asanyarray append atleast_1d atleast_2d atleast_3d block broadcast_to can_cast column_stack concat
    concatenate copy count_nonzero delete diff dot dstack empty empty_like expand_dims fill_diagonal flip
    frombuffer fromfile fromiter full full_like genfromtxt hstack insert intersect1d isin isreal isrealobj
    iscomplex iscomplexobj lexsort loadtxt max mean median meshgrid min ndim nonzero ones outer partition
    promote_types ptp ravel repeat reshape resize result_type roll savetxt searchsorted select setdiff1d setxor1d
    shape size sort split squeeze stack swapaxes sum take take_along_axis tensordot tile transpose union1d unique
    unique_all unique_counts unique_inverse unique_values vstack where zeros zeros_like
    """.split()  # noqa: SIM905 - a table reads better than a hundred quoted names
)


def taking_any_data(functions: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of some public functions that users call in another form: NumPy's take over for other data.

    Names of one function, such as `max` and `amax`, stay names of one function.
    """
    known = {
        function: with_numpys(function, getattr(np, name))
        for name, function in functions.items()
        if name in TAKING_ANY_DATA
    }
    return {
        name: known[function]
        for name, function in functions.items()
        if isinstance(function, FunctionType) and function in known
    }


def with_numpys(function: FunctionType, theirs: Function) -> Function:
    """Return a function that hands data which tensors do not hold to NumPy's; all other errors stay.

    What a function has as `around` sees calls before: those that it answers itself are of no other data.
    """
    guard = _Guard(function, theirs)

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        guard.calls_left -= 1
        if not guard.calls_left:
            guard.give_parameters()
        try:
            return guard.function(*args, **options)
        except REFUSED as error:
            return guard.by_numpy(error, args, options)

    guard.call = call
    call.__module__ = "tensorframe"  # where pickle finds it: the module that defines the function has the inner one
    around = getattr(function, "around", None)
    return call if around is None else around(call)


class _Guard:
    """A function, NumPy's for what it refuses, and `call`, which users call, and which refers to this object alone.

    One that is called often takes the parameters of the function in place of any: to put arguments into a tuple and a
    mapping, and to take them out again, is a part of every call of a few elements. To compile a hundred functions with
    parameters of their own while the package is imported would take longer than all else there.
    """

    __slots__ = ("call", "calls_left", "function", "theirs")
    call: Any

    def __init__(self, function: FunctionType, theirs: Function) -> None:
        self.function = function
        self.theirs = theirs
        self.calls_left = _OFTEN

    def by_numpy(self, error: Exception, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Return what NumPy's function makes of refused arguments; raise `error` if it has no use for them."""
        if options.get("device") is not None or not any(map(is_other, (args, options))):
            raise error
        from tensorframe.frontend.protocols.ufuncs import through_numpy

        try:
            return through_numpy(self.theirs, args, options)
        except Exception:  # of any kind: our words help more
            raise error from None

    def of_all(self, error: Exception, *values: Any) -> Any:
        """Return what `by_numpy` does, for values of all parameters: the defaults among them were not given."""
        positional, named, defaults = _parameters_of(self.function)
        pairs = zip(positional + named, values, strict=True)
        given = {name: value for name, value in pairs if value is not defaults.get(name, _Guard)}
        leading = list(takewhile(given.__contains__, positional))
        return self.by_numpy(error, tuple([given.pop(name) for name in leading]), given)

    def give_parameters(self) -> None:
        """Have `call` take the parameters of the function."""
        code = self.function.__code__
        if code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
            return
        positional, named, _ = _parameters_of(self.function)
        taken = [*positional, *(["*"] if named else []), *named]
        if code.co_posonlyargcount:
            taken.insert(code.co_posonlyargcount, "/")
        text = _EXACT.format(
            taken=", ".join(taken),
            passed=", ".join([*positional, *[f"{name}={name}" for name in named]]),
            values=", ".join(positional + named),
        )
        namespace: dict[str, Any] = {}
        exec(compile(text, __file__, "exec"), namespace)  # noqa: S102 - as dataclasses are made
        self.call.__defaults__ = self.function.__defaults__
        self.call.__kwdefaults__ = self.function.__kwdefaults__
        self.call.__code__ = namespace["with_guard"](self).__code__


# `guard` is what `call` of `with_numpys` is closed over, so that one can take the code of the other
_EXACT: Final = """
def with_guard(guard):
    def call({taken}):
        try:
            return guard.function({passed})
        except REFUSED as error:
            return guard.of_all(error, {values})
    return call
"""


def _parameters_of(
    function: FunctionType,
) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]:
    """Return the names of the parameters that a position may give, of those that only a name does, and defaults."""
    code = function.__code__
    names, count = code.co_varnames, code.co_argcount
    positional, named = names[:count], names[count : count + code.co_kwonlyargcount]
    last = function.__defaults__ or ()
    defaults = dict(zip(positional[count - len(last) :], last, strict=True))
    return positional, named, defaults | (function.__kwdefaults__ or {})


def is_other(value: Any) -> bool:
    """Whether `value` is, names or has among its parts what tensors do not hold."""
    if isinstance(value, str | bytes | np.str_ | np.bytes_):
        return True
    if isinstance(value, np.ndarray | np.generic | np.dtype):
        return hasattr(value, "mask") or getattr(value, "dtype", value) not in ANY
    if isinstance(value, list | tuple):
        return any(map(is_other, value))
    if isinstance(value, dict):
        return any(map(is_other, value.values()))
    if isinstance(value, type):
        return value in (object, str, bytes) or (
            issubclass(value, np.generic) and np.dtype(value) not in ANY
        )
    return False


def is_dtype_of_others(dtype: Any) -> bool:
    """Whether NumPy knows this dtype, and tensors do not have it."""
    try:
        return np.dtype(dtype) not in ANY
    except TypeError:
        return False


__all__: list[str] = []
