"""NumPy's public names: where each stands here, what differs, and what is absent, and why."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import tensorframe as tfr
from tests.numpy_names.comparison import computes
from tests.numpy_names.signatures import every_call, homes, public, written_calls


class Different(NamedTuple):
    """What is different on purpose: how, and in which calls, an expression for their text and `[environment]`."""

    how: str
    calls: str = ""


_COMPLEX = r"\[.*complex"
DIFFERENT = {
    "array2string": Different("computes, and takes NumPy's way"),
    "array_repr": Different("says Tensor, and its device", "."),
    "asarray_chkfinite": Different("complex numbers do not become real by themselves", _COMPLEX),
    "ascontiguousarray": Different("complex numbers do not become real by themselves", _COMPLEX),
    "asfortranarray": Different("complex numbers do not become real by themselves", _COMPLEX),
    "astype": Different("complex numbers do not become real by themselves", _COMPLEX),
    "bincount": Different(
        "weights without elements stay floating, NumPy counts then", r"weights.*\[no "
    ),
    "can_cast": Different("follows promotion, in which integers fit every float"),
    "cumsum": Different("into bools raises", r"out=.*\[bool"),
    "divide": Different("integers give the default real dtype, float32"),
    "eig": Different("always complex, as the array standard says", r"."),
    "eigvals": Different("always complex, as the array standard says", r"."),
    "einsum": Different("optimize= is read and not needed: the order is found in any case"),
    "empty": Different("its elements are zeros"),
    "errstate": Different("NumPy's own: tensors give no warnings of floating point"),
    "fftn": Different("of no axes is complex, as of others", r"\[0-d"),
    "floor_divide": Different("an integer by zero is 0, an infinite float divided stays infinite"),
    "hfft": Different("of no elements is zeros; NumPy reads what is not there", r"n=.*\[no "),
    "histogram": Different("takes real numbers", _COMPLEX),
    "histogram2d": Different("takes real numbers", _COMPLEX),
    "histogram_bin_edges": Different("takes real numbers", _COMPLEX),
    "histogramdd": Different("takes real numbers", _COMPLEX),
    "ifftn": Different("of no axes is complex, as of others", r"\[0-d"),
    "interp": Different("points are real numbers, values may be complex", _COMPLEX),
    "irfft": Different("of no elements is zeros; NumPy reads what is not there", r"n=.*\[no "),
    "load": Different("a path and a device: see Saving and loading", "."),
    "lstsq": Different("the rank is int64; residuals have their shape whatever the rank", "."),
    "nanargmax": Different("0 where all are NaN; NumPy raises"),
    "nanargmin": Different("0 where all are NaN; NumPy raises"),
    "nanpercentile": Different("of no elements has the shape that other lines give", r"\[no "),
    "nanquantile": Different("of no elements has the shape that other lines give", r"\[no "),
    "ndarray": Different("is Tensor"),
    "piecewise": Different(
        "calls functions with all elements; what they give elsewhere does not count", r"\[bool"
    ),
    "poly": Different("of no roots has the default dtype", r"\[no col"),
    "polyfit": Different("the rank of full=True is int64", "full=True"),
    "polyval": Different("coefficients without elements give the dtype of the default", r"\[no "),
    "put": Different(
        "values that the dtype cannot hold raise; 0-d tensors are written to", r"\[(bool|0-d)"
    ),
    "put_along_axis": Different("values that the dtype cannot hold raise", r"\[bool"),
    "quantile": Different(
        "integers give the default real dtype, whichever the method", "method=.*\\[.*(bool|int)"
    ),
    "random": Different("keys and counters, so other numbers than NumPy's"),
    "ravel": Different(
        "values: a result never shares memory that anybody can write to, here and everywhere"
    ),
    "require": Different("complex numbers do not become real by themselves", _COMPLEX),
    "result_type": Different("integers beside float32 give float32"),
    "save": Different("a path, whose suffix says the format: see Saving and loading", "."),
    "select": Different("a default that the dtype cannot hold raises; NumPy wraps it", r"\[uint"),
    "seterr": Different("NumPy's own: tensors give no warnings of floating point"),
    "spacing": Different("of negative float16 is negative, as of other dtypes", r"\[float16"),
    "std": Different("dtype= of complex numbers is that of their real parts", r'"f8".*complex'),
    "unique": Different("always sorted"),
    "unpackbits": Different("bits that are not there are zeros", r"\[no "),
    "unwrap": Different("differences of unsigned integers do not wrap", r"\[uint"),
    "var": Different("dtype= of complex numbers is that of their real parts", r'"f8".*complex'),
    "vectorize": Different("a class of ours, whose results are tensors"),
}

# what NumPy gives in these calls depends on memory that nobody wrote
BY_CHANCE = frozenset({"hfft", "irfft", "unpackbits"})


def unexpected(name: str, found: dict[str, str]) -> dict[str, str]:
    """Return those of the differences of a name that are not on purpose."""
    different = DIFFERENT.get(name.rpartition(".")[2], Different(""))
    return {
        call: words
        for call, words in found.items()
        if not (different.calls and re.search(different.calls, call))
    }


# names that are not there: why, and which
ABSENT = {
    "NumPy's own tests, and its Fortran compiler: import it from numpy": "test f2py",
    "there on some machines only: longdouble and clongdouble are everywhere": "float128 complex256",
    "NumPy's old name for what it does not publish": "core",
}

OF_FILES = frozenset(
    {"load", "save"}
)  # they have parameters of their own, so that NumPy's calls raise

# what arrays and generators of NumPy's have, and tensors and ours have not: why
WITHOUT_IN_CLASSES = {
    "ndarray": (
        np.ndarray,
        tfr.Tensor,
        {"ctypes", "getfield", "setfield"},
    ),
    "Generator": (np.random.Generator, tfr.random.Generator, {"bit_generator"}),
}


def absent() -> dict[str, str]:
    """Return why each absent name is absent."""
    return {name: why for why, names in ABSENT.items() for name in names.split()}


def rows() -> Iterator[tuple[str, str]]:
    """Yield a line of the table for each name of NumPy's: the name, and where it stands."""
    called = every_call().keys() | written_calls().keys()
    without = absent()
    for prefix, space, ours in homes():
        for name in public(space):
            if not hasattr(ours, name):
                yield prefix + name, f"absent: {without.get(name, 'nobody said why')}"
                continue
            value = getattr(ours, name)
            standing = "native"
            if value is getattr(space, name):
                standing = "NumPy's own"
            elif prefix + name in called and name not in OF_FILES and computes(prefix + name):
                standing = "native, computes at once"
            different = DIFFERENT.get(name)
            how = f"; different: {different.how}" if different else ""
            yield prefix + name, standing + how


def table() -> str:
    """Return the table as text of a page."""
    lines = ["| NumPy | here |", "|---|---|"]
    groups: dict[str, list[str]] = {}
    for name, standing in rows():
        groups.setdefault(standing, []).append(name)
    for standing in sorted(
        groups, key=lambda text: (text.startswith("absent"), text != "native", text)
    ):
        names = ", ".join(f"`{name}`" for name in groups[standing])
        lines.append(f"| {names} | {standing} |")
    return "\n".join(lines)


# functions of NumPy's name with parameters of their own
OWN_PARAMETERS = frozenset(
    {"load", "save", "fromfile", "loadtxt", "genfromtxt", "savetxt", "savez", "savez_compressed"}
)


def missing_parameters(prefix: str, name: str) -> list[str]:
    """Return the parameters of NumPy's function that ours does not take, by the same name and in the same place."""
    spaces = {key: (space, ours) for key, space, ours in homes()}
    space, ours = spaces[prefix]
    theirs, own = getattr(space, name), getattr(ours, name, None)
    if own is None or own is theirs or isinstance(theirs, type) or not callable(own):
        return []
    try:
        wanted = list(inspect.signature(theirs).parameters.values())
        given = inspect.signature(own).parameters
    except ValueError:  # NumPy's oldest functions say nothing of their arguments
        return []
    kinds = {parameter.kind for parameter in given.values()}
    found = []
    positional = [
        parameter.name
        for parameter in given.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    for place, parameter in enumerate(wanted):
        if parameter.kind is parameter.POSITIONAL_ONLY:
            if place >= len(positional) and parameter.VAR_POSITIONAL not in kinds:
                found.append(parameter.name)
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
            same_place = place < len(positional) and (
                positional[place] == parameter.name or parameter.name in given
            )
            if not same_place and parameter.VAR_POSITIONAL not in kinds:
                found.append(parameter.name)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if parameter.name not in given and parameter.VAR_KEYWORD not in kinds:
                found.append(parameter.name)
    return found
