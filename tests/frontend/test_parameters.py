"""Parameters of the wrong kind: every public function refuses them with an error that names the function's own terms.

Calls are made at random, from the same seed in every run: fitting values, and now and then one of a wrong type or far
outside of what makes sense. They may succeed, or raise one of our errors; any other exception came from inside.
"""

from __future__ import annotations

import inspect
import random
import warnings

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import TensorFrameError
from tensorframe.frontend import parameters
from tensorframe.graph.shape import MAX_SIZE

X = tfr.asarray(np.arange(12.0, dtype=np.float32).reshape(3, 4))
V = tfr.asarray([1.0, 2.0, 3.0])
N = tfr.asarray([2, 0, 1])
FITTING = [
    *(X, V, N, tfr.asarray(np.eye(3) + 1), tfr.asarray([True, False, True]), tfr.zeros((0, 3))),
    *(tfr.asarray([1 + 2j, 3j]), [X, X], (V, V), [1, 2, 3], [0, 1], (0, 1), (3, 4), "full"),
    *(0, 1, -1, 2, 1.5, 0.5, None, True, "float32", "int64", tfr.float64, "linear"),
]
WRONG = [
    *("a", "nonsense", b"xx", object(), {}, {"a": 1}, set(), slice(1), ..., (), [], [None], type),
    *([[1], [1, 2]], (1, "a"), (1.5, 2.5), np.array(["a"]), np.datetime64("2020"), np.array(None)),
    *(float("nan"), float("inf"), -5, 99, 10**30, 1j, lambda value: value),
]
CALLS = 12  # of each function
# what they do is change settings or files, or run functions that are given
ELSEWHERE = {
    *("fromfile", "genfromtxt", "loadtxt", "savetxt", "savez", "savez_compressed"),
    *(
        "bench",
        "autotune",
        "calibrate",
        "profile",
        "save",
        "set_backend",
        "set_backend_priority",
        "use_backend",
    ),
    "fromfunction",
    *(
        "gru",
        "lstm",
        "rnn",
        "rope",
    ),  # which do not read all of theirs by frontend/parameters.py yet
    *(
        "set_default_dtype",
        "transfer_policy",
        "verify",
        "doctor",
        "elementwise",
        "jit",
        "raw_kernel",
        "register_tree",
    ),
}


def public_functions():
    for module, prefix in (
        (tfr, ""),
        (tfr.linalg, "linalg."),
        (tfr.fft, "fft."),
        (tfr.random, "random."),
        (tfr.nn.functional, "nn.functional."),
    ):
        for name in module.__all__:
            function = getattr(module, name)
            is_numpys = name in dir(np) and getattr(np, name) is function
            if inspect.isfunction(function) and not is_numpys and name not in ELSEWHERE:
                yield pytest.param(function, id=prefix + name)


def arguments(function, draw):
    """Return arguments for a call: positional ones up to the first that is left out, some by keyword."""
    args, kwargs, is_open = [], {}, True
    for parameter in inspect.signature(function).parameters.values():
        value = draw.choice(FITTING if draw.random() < 0.75 else WRONG)
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [draw.choice(FITTING) for _ in range(draw.randint(0, 3))] if is_open else []
            is_open = False
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is not parameter.empty and draw.random() < 0.6:
            is_open = False
        elif parameter.kind is parameter.KEYWORD_ONLY or (
            not is_open and parameter.kind is not parameter.POSITIONAL_ONLY
        ):
            kwargs[parameter.name] = value
        elif is_open:
            args.append(value)
    return args, kwargs


def raised_by(function, args, kwargs):
    """Return the exception of a call that came from inside of the package without being one of its own."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return None  # Python refuses the call itself
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except TensorFrameError:
        return None
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("function", list(public_functions()))
def test_wrong_arguments_raise_errors_of_ours(function):
    draw = random.Random(function.__name__)
    for _ in range(CALLS):
        args, kwargs = arguments(function, draw)
        error = raised_by(function, args, kwargs)
        assert error is None, f"{function.__name__}(*{args}, **{kwargs}): {error!r}"


class Refusing:
    """An object without an integer, a number or a truth value."""

    def __index__(self):
        raise OverflowError("not this one")

    def __bool__(self):
        raise ValueError("neither")

    def __repr__(self):
        raise RuntimeError("nor a name")


@pytest.mark.parametrize(
    "read",
    [
        lambda: parameters.integer("f", "n", Refusing()),
        lambda: parameters.integers("f", "n", [1, Refusing()]),
        lambda: parameters.number("f", "n", Refusing()),
        lambda: parameters.number("f", "n", "1.5"),
        lambda: parameters.flag("f", "n", Refusing()),
        lambda: parameters.choice("f", "n", Refusing(), ("a", "b")),
        lambda: parameters.items("f", "n", Refusing()),
        lambda: parameters.pair("f", "n", (1, 2, 3)),
        lambda: parameters.count("f", "n", -1),
        lambda: parameters.count("f", "n", MAX_SIZE + 1),
    ],
    ids=[
        "integer",
        "integers",
        "number",
        "text",
        "flag",
        "choice",
        "items",
        "pair",
        "negative",
        "count",
    ],
)
def test_an_error_names_the_function_and_the_parameter(read):
    with pytest.raises(TensorFrameError, match=r"^f: .*\bn\b"):
        read()
