"""NumPy's public names: where each stands here, what differs, and what is absent, and why."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

import tensorframe as tfr
from tests.numpy_names.comparison import computes, every_call

# what some calls give differently on purpose: the name, and how
DIFFERENT = {
    "bincount": "weights without elements stay floating, NumPy counts then",
    "divide": "integers give the default real dtype, float32",
    "eig": "always complex, as the array standard says",
    "eigvals": "always complex, as the array standard says",
    "empty": "its elements are zeros",
    "floor_divide": "an integer by zero is 0, an infinite float divided stays infinite",
    "hfft": "of no elements is zeros; NumPy reads what is not there",
    "nanargmax": "0 where all are NaN; NumPy raises",
    "nanargmin": "0 where all are NaN; NumPy raises",
    "nanpercentile": "of no elements has the shape that other lines give",
    "piecewise": "calls functions with all elements; what they give elsewhere does not count",
    "polyval": "coefficients without elements give the dtype of the default",
    "quantile": "integers give the default real dtype, whichever the method",
    "random": "keys and counters, so other numbers than NumPy's",
    "result_type": "integers beside float32 give float32",
    "can_cast": "follows promotion, in which integers fit every float",
    "ravel": "values: a result never shares memory that anybody can write to, here and everywhere",
    "unique": "always sorted",
    "einsum": "optimize= is read and not needed: the order is found in any case",
    "array2string": "computes, and takes NumPy's way",
    "vectorize": "a class of ours, whose results are tensors",
    "ndarray": "is Tensor",
    "errstate": "NumPy's own: tensors give no warnings of floating point",
    "seterr": "NumPy's own: tensors give no warnings of floating point",
}

# names that are not there: why, and which
ABSENT = {
    "NumPy's own tests, and its Fortran compiler: import it from numpy": "test f2py",
    "there on some machines only: longdouble and clongdouble are everywhere": "float128 complex256",
    "NumPy's old name for what it does not publish": "core",
}


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


def public(space: ModuleType) -> list[str]:
    """Return the public names of one of NumPy's namespaces."""
    return sorted(name for name in space.__all__ if name[0] != "_")


def homes() -> Iterator[tuple[str, ModuleType, Any]]:
    """Yield each namespace: a prefix, NumPy's, and ours."""
    yield "", np, tfr
    yield "linalg.", np.linalg, tfr.linalg
    yield "fft.", np.fft, tfr.fft


def rows() -> Iterator[tuple[str, str]]:
    """Yield a line of the table for each name of NumPy's: the name, and where it stands."""
    called = {name for name, _, _ in every_call()}
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
            elif prefix + name in called and computes(prefix + name):
                standing = "native, computes at once"
            how = DIFFERENT.get(name)
            yield prefix + name, f"{standing}; different: {how}" if how else standing


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
