"""Every rule in all floating dtypes, of both orders, with broadcasts and without elements, against float64 on the cpu.

That float64's gradients are right, central differences say (`test_rules.py`). What a function refuses in a dtype, or of
no elements, it has no gradient of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.dtypes import float64
from tensorframe.errors import TensorFrameError
from tensorframe.frontend.dispatch import apply
from tests.gradient.test_rules import CASES, DOMAINS, ELEMENTWISE

# The rounding of a few operations in a row, each of which is an error of this part or half of it.
_ROUNDINGS = 24
PRECISION = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}

# of one to three operands: alike, broadcast both ways, from nothing, and of no elements
SHAPES: dict[int | None, list[tuple[tuple[int, ...], ...]]] = {
    1: [((2, 3),), ((),), ((0, 2),)],
    2: [((3, 1), (1, 4)), ((), (2, 3)), ((2, 3), (2, 1)), ((0, 3), (1, 3)), ((4,), (0, 4))],
    3: [((3, 1), (1, 4), ()), ((0, 3), (1, 3), (3,))],
}
# with and without elements
ALONG = [(4,), (2, 3), (1,), (2, 1, 3), (0,), (0, 3), (3, 0)]
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: tfr.sum(x, axis=0),
    "sum of all, kept": lambda x: tfr.sum(x, keepdims=True) * x,
    "prod": lambda x: tfr.prod(x, axis=-1),
    "max": lambda x: tfr.max(x, axis=-1),
    "min": lambda x: tfr.min(x, axis=0),
    "mean": lambda x: tfr.mean(x, axis=-1),
    "var": lambda x: tfr.var(x, axis=-1),
    "std": lambda x: tfr.std(x, axis=0, keepdims=True),
    "vector_norm": lambda x: tfr.linalg.vector_norm(x, axis=-1),
    "norm of order 3": lambda x: tfr.linalg.vector_norm(x, axis=-1, ord=3),
    "cumulative_sum": lambda x: tfr.cumulative_sum(x, axis=-1),
    "cumulative_prod": lambda x: tfr.cumulative_prod(x, axis=0),
    "softmax": lambda x: tfr.softmax(x, axis=-1),
    "log_softmax": lambda x: tfr.log_softmax(x, axis=0),
    "logsumexp": lambda x: tfr.logsumexp(x, axis=-1),
    "ptp": lambda x: tfr.ptp(x, axis=-1),
    "sort": lambda x: tfr.sort(x, axis=-1, descending=True),
    "median": lambda x: tfr.median(x, axis=0),
    "diff": lambda x: tfr.diff(x, axis=-1),
    "trapezoid": lambda x: tfr.trapezoid(x, axis=-1),
    "nanmean": lambda x: tfr.nanmean(x, axis=0),
    "flip": lambda x: tfr.flip(x, axis=-1),
    "roll": lambda x: tfr.roll(x, 1, axis=0),
    "reshape": lambda x: tfr.reshape(x, (-1, 1)),
    "transpose": lambda x: tfr.permute_dims(x, tuple(range(x.ndim))[::-1]),
    "pad": lambda x: tfr.pad(x, 1),
    "slice": lambda x: x[..., ::-2],
    "concat": lambda x: tfr.concat([x, x * 2], axis=0),
    "stack": lambda x: tfr.stack([x, -x], axis=-1),
    "repeat": lambda x: tfr.repeat(x, 2, axis=-1),
    "tile": lambda x: tfr.tile(x, 2),
    "broadcast_to": lambda x: tfr.broadcast_to(x, (2, *x.shape)),
    "take": lambda x: tfr.take(x, tfr.asarray([0, 0, -1], device=x.device), axis=0),
    "index_add": lambda x: tfr.index_add(x, tfr.asarray([0, 0], device=x.device), 2.0) * x,
    "segment_sum": lambda x: tfr.segment_sum(x, tfr.zeros_like(x, dtype=tfr.int32), 2),
    "segment_max": lambda x: tfr.segment_max(x, tfr.zeros_like(x, dtype=tfr.int32), 2)[:1],
    "set a slice": lambda x: _set(x, (slice(0, 1),), 3.0),
    "where": lambda x: tfr.where(x > 1, x, 2 * x),
    "clip": lambda x: tfr.clip(x, 0.4, 1.2),
    "square": lambda x: x * x,
    "matmul": lambda x: tfr.matmul(x, x.mT) if x.ndim > 1 else x @ x,
    "outer": lambda x: tfr.tensordot(x, x, axes=0),
}


def _set(x: Any, key: Any, value: float) -> Any:
    x = x * 1.5
    x[key] = value
    return x


class Case(NamedTuple):
    """A function, and its arguments in float64, integers or truth values."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[np.ndarray[Any, Any], ...]


def elementwise() -> Iterator[Case]:
    """Yield every elementwise row for operands of all shapes."""
    random = np.random.default_rng(11)
    for op in ELEMENTWISE:
        low, high = DOMAINS.get(op.name, (-2.0, 2.0))
        for shapes in SHAPES.get(op.arity) or [((2, 3),) * (op.arity or 1)]:
            given = tuple([random.uniform(low, high, shape) for shape in shapes])
            yield Case(f"{op.name} of {shapes}", lambda *args, op=op: apply(op, *args), given)


def along_axes() -> Iterator[Case]:
    """Yield what is made of whole tensors, with and without elements; no two are close to each other."""
    random = np.random.default_rng(12)
    for name, function in FUNCTIONS.items():
        for shape in ALONG:
            values = random.permutation(int(np.prod(shape))).reshape(shape) * 0.25 + 0.375
            yield Case(f"{name} of {shape}", function, (values,))


def named() -> Iterator[Case]:
    """Yield the functions that differences are taken of."""
    for name, (function, *given) in CASES.items():
        yield Case(name, function, tuple(map(np.asarray, given)))


def all_cases() -> Iterator[Case]:
    """Yield everything."""
    yield from elementwise()
    yield from along_axes()
    yield from named()


def check(case: Case, dtype: str, device: str = "cpu") -> bool:
    """Compare the gradients of a function in a dtype with those in float64; False if it takes no such operands."""
    rounded = [_rounded(each, dtype) for each in case.arguments]
    try:
        out = case.function(*[tfr.asarray(each, device=device) for each in rounded])
        out.numpy()
    except TensorFrameError:
        return False
    places = [at for at, each in enumerate(case.arguments) if each.dtype.kind == "f"]
    wide = [each.astype(np.float64) if at in places else each for at, each in enumerate(rounded)]
    found = _gradients(case, rounded, places, device)
    wanted = _gradients(case, wide, places, "cpu")
    rtol = _ROUNDINGS * PRECISION[dtype]
    for gradient, exact, at in zip(found, wanted, places, strict=True):
        assert gradient.dtype == rounded[at].dtype, case.name
        assert gradient.shape == rounded[at].shape, case.name
        assert str(gradient.device) == device, case.name
        exact = exact.numpy()
        assert np.isfinite(exact).all(), case.name
        # what is added up along broadcast axes are numbers of about one, which may cancel
        least = 1.0 if exact.size < out.size else 0.0
        largest = float(np.max(np.abs(exact), initial=least))
        values = gradient.numpy().astype(np.float64)
        np.testing.assert_allclose(values, exact, rtol=rtol, atol=rtol * largest, err_msg=case.name)
    return True


def _rounded(array: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    return array.astype(getattr(tfr, dtype)) if array.dtype == float64 else array


def _gradients(case: Case, given: Any, places: list[int], device: str) -> Any:
    def loss(*args: Any) -> Any:
        out = case.function(*args)
        # quarters, which every dtype has
        weight = np.random.default_rng(3).integers(2, 7, out.shape) / 4
        return tfr.sum(out * tfr.asarray(weight, device=out.device).astype(out.dtype))

    return tfr.grad(loss, argnums=places)(*[tfr.asarray(each, device=device) for each in given])


def check_curvature(case: Case, step: float = 1e-5) -> bool:
    """Compare second derivatives along a direction with differences of gradients; False if there are no elements."""
    places = [at for at, each in enumerate(case.arguments) if each.dtype.kind == "f"]
    points = [case.arguments[at] for at in places]
    if not sum(point.size for point in points):
        return False
    random = np.random.default_rng(5)
    along = [random.uniform(-1, 1, point.shape) for point in points]

    def loss(*values: Any) -> Any:
        given = list(map(tfr.asarray, case.arguments))
        for at, value in zip(places, values, strict=True):
            given[at] = value
        out = case.function(*given)
        weight = np.random.default_rng(3).uniform(0.5, 1.5, out.shape)
        return tfr.sum(out * out * tfr.asarray(weight))

    gradient = tfr.grad(loss, argnums=range(len(points)))

    def slope(*values: Any) -> Any:
        slopes = gradient(*values)
        return sum(tfr.sum(each * tfr.asarray(v)) for each, v in zip(slopes, along, strict=True))

    found = tfr.grad(slope, argnums=range(len(points)))(*map(tfr.asarray, points))
    ends = [
        gradient(*[tfr.asarray(x + by * v) for x, v in zip(points, along, strict=True)])
        for by in (step, -step)
    ]
    for curvature, high, low in zip(found, *ends, strict=True):
        wanted = (high.numpy() - low.numpy()) / (2 * step)
        largest = np.max(np.abs(wanted), initial=1.0)
        np.testing.assert_allclose(
            curvature.numpy(), wanted, rtol=1e-5, atol=1e-6 * largest, err_msg=case.name
        )
    return True
