"""NumPy's public names: where each stands here, what differs, and what is absent, and why."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.documentation.sections import differences
from tests.numpy_names.comparison import computes
from tests.numpy_names.signatures import every_call, homes, public, written_calls


class Different(NamedTuple):
    """What is different on purpose: how, and in which calls, an expression for their text and `[environment]`."""

    how: str
    calls: str = ""


_COMPLEX = r"\[.*complex"
_CALLS = {
    "array_repr": r".",
    "asarray_chkfinite": _COMPLEX,
    "ascontiguousarray": _COMPLEX,
    "asfortranarray": _COMPLEX,
    "astype": _COMPLEX,
    "bincount": r"weights.*\[no ",
    "cumsum": r"out=.*\[bool",
    "eig": r".",
    "eigvals": r".",
    "fftn": r"\[0-d",
    "hfft": r"n=.*\[no ",
    "histogram": _COMPLEX,
    "histogram2d": _COMPLEX,
    "histogram_bin_edges": _COMPLEX,
    "histogramdd": _COMPLEX,
    "ifftn": r"\[0-d",
    "interp": _COMPLEX,
    "irfft": r"n=.*\[no ",
    "lstsq": r".",
    "nanpercentile": r"\[no ",
    "nanquantile": r"\[no ",
    "piecewise": r"\[bool",
    "poly": r"\[no col",
    "polyfit": r"full=True",
    "polyval": r"\[no ",
    "put": r"\[(bool|0-d)",
    "put_along_axis": r"\[bool",
    "quantile": r"method=.*\[.*(bool|int)",
    "require": _COMPLEX,
    "select": r"\[uint",
    "spacing": r"\[float16",
    "std": r'"f8".*complex',
    "unpackbits": r"\[no ",
    "unwrap": r"\[uint",
    "var": r'"f8".*complex',
}
DIFFERENT = {
    last: Different(how, _CALLS.get(last, ""))
    for name, how in differences().items()
    for last in [name.rpartition(".")[2]]
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

# they read and write files whatever is recorded, and NumPy's examples leave theirs open
OF_FILES = frozenset({"load", "save"})

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
    {"fromfile", "loadtxt", "genfromtxt", "savetxt", "savez", "savez_compressed"}
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
