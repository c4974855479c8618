"""Results are values: assigning to one changes no operand, and changing an operand changes no result."""

from __future__ import annotations

import ast
import builtins
import copy
import operator
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.frontend.protocols.numpy_functions import RENAMED, SAME
from tests.frontend.every_function import CALLS_OF, OTHERS, operands, public_functions

# one device of each backend, and what it holds
HELD = {
    device.device.backend: device.capabilities.dtypes
    for device in reversed(tfr.backends.devices())
    if device.capabilities.executes
}

# what exists as a method, an index, an operator, or by NumPy's protocols
OF_TENSORS = """
x.flatten(); m.flatten(); x.reshape(4); x.reshape((4,)); m.reshape(3, 3); x.ravel(); x.T; m.T; z.T; n.T; m.mT; n.mT; n.H
m.H; x.real; c.real; i.real; x.imag; c.imag; x.conj(); c.conj(); x.conjugate(); x.copy(); x.squeeze(); x.squeeze(())
x.transpose(); m.transpose(0, 1); x.swapaxes(0, 0); x.round(); i.round(); i.round(2); x.round(2); x.clip()
x.astype(x.dtype); x.to_device(x.device); x.to_backend(x.backend); x.repeat(1); x.take(i); x.view(); x.view("int32")
x.sum(axis=()); x.max(axis=()); x.mean(axis=()); m.diagonal(); x.cumsum(); e.cumsum(); from_native(x); asarray([x, x])
x[...]; x[:]; x[()]; x[i]; x[b]; x[0]; z[()]; z[...]; x[None]; r[0]; x[::1]; m[:, :]; x[-4:]; m[i[:3], k]
+x; -x; +i; abs(x); abs(o); ~b; x + 0; x * 1; x ** 1; x / 1; x - 0; i | 0; i << 0; b & True; x @ o; m @ m; divmod(x, 1)
copy.copy(x); copy.deepcopy(x); copy.deepcopy([x, o]); pickle.loads(pickle.dumps(x)); list(x); [*m]; [*zip(x, x)]
np.positive(x); np.real(x); np.real(c); np.imag(x); np.copy(x); np.round(x); np.around(x); np.diagonal(m); np.trace(n)
np.add(x, 0); np.multiply.reduce(e, axis=0); np.add.accumulate(e); np.add.outer(e, e); np.add(x, 0, dtype="float32")
np.resize(x, 4); np.trim_zeros(x); np.expand_dims(x, 0); np.nan_to_num(x, copy=False); np.real_if_close(x)
np.select([b], [x], 0.0); np.choose(b * 1, [x, o]); np.apply_along_axis(lambda v: v, 0, x); np.fft.fftshift(x, axes=())
np.linalg.matrix_power(m, 1); np.linalg.multi_dot([m, m]); np.lib.stride_tricks.sliding_window_view(x, 2)
"""

# every way to return an operand, on devices where each kernel is compiled
ON_EVERY_DEVICE = """
concat([x]); reshape(x, (4,)); ravel(x); roll(x, 0); pad(x, 0); x.T; x.real; x[...]; x.copy(); squeeze(x)
einsum("i->i", x); linalg.matrix_power(m, 1); diff(x, 0); x.to_device(x.device); broadcast_to(x, (4,))
nan_to_num(i); full((4,), x); jit(lambda x: (x, x[1:]))(x); np.concatenate([x])
histogram_bin_edges(x, bins=o); asarray(x, copy=True); x + 1
"""


def listed(calls):
    return sorted({one.strip() for one in calls.replace("\n", ";").split(";") if one.strip()})


def evaluated(call, named, space=tfr):
    """The tensors and arrays in what a call gives for operands with these names."""
    names = {name: getattr(space, name) for name in space.__all__}
    modules = {"np": np, "copy": copy, "operator": operator, "pickle": pickle}
    return list(_parts(eval(call, {**vars(builtins), **names, **modules, **named})))


def _parts(result):
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, list | tuple):
        for one in result:
            yield from _parts(one)
    elif isinstance(result, tfr.Tensor | np.ndarray):
        yield result


def tensors(device="numpy"):
    return {
        name: tfr.asarray(operand, device=device if operand.dtype in HELD[device] else "cpu")
        for name, operand in operands().items()
    }


def change(one):
    """Give a tensor or array other elements, in place."""
    one[...] = np.logical_not(np.array(one)) if one.dtype == bool else 77


def elements(parts):
    return [np.array(part) for part in parts]


def assert_same(parts, wanted):
    assert len(parts) == len(wanted)
    for part, one in zip(parts, wanted, strict=True):
        np.testing.assert_array_equal(np.asarray(part), one)


def check_results(call, named, space=tfr):
    """Assignments to a result change neither an operand nor another result."""
    results = evaluated(call, named, space)
    wanted = elements(results)
    for index, result in enumerate(results):
        change(result)
        assert_same(results[index + 1 :], wanted[index + 1 :])
        result += np.ones((), result.dtype)  # another way to assign
        assert_same(results[index + 1 :], wanted[index + 1 :])
    assert_same(list(named.values()), list(operands().values()))


def check_operands(call, named, space=tfr, changes=None):
    """What happens to the operands later changes no result, be it computed or not."""
    pending, computed = evaluated(call, named, space), evaluated(call, named, space)
    wanted = elements(computed)
    for one in changes or named.values():
        change(one)
    assert_same(computed, wanted)
    assert_same(pending, wanted)


class Held(dict[str, Any]):
    """Operands that are read-only views of arrays that can be written to, as pandas hands them out."""

    def __init__(self):
        self.memory = operands()
        views = {name: one.view() for name, one in self.memory.items()}
        for view in views.values():
            view.flags.writeable = False
        super().__init__(views)


def taken_by_numpy():
    """For each function that means the same in NumPy, the calls that NumPy takes."""
    found = {}
    for name in sorted(SAME | set(RENAMED.values())):
        for call in CALLS_OF.get(name, ()):
            try:
                if call.startswith(f"{name}("):
                    evaluated(call, operands(), np)
                    found.setdefault(name, []).append(call)
            except (AttributeError, TypeError, ValueError):  # an option or operand of ours
                pass
    return found


BY_NUMPY = taken_by_numpy()


def test_every_public_function_is_called():
    listed_names = CALLS_OF.keys() | OTHERS
    functions = public_functions()
    assert [names for names in functions.values() if names.isdisjoint(listed_names)] == []
    assert listed_names <= set().union(*functions.values())
    assert len(BY_NUMPY) > 100


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", CALLS_OF)
@pytest.mark.parametrize("small_size", [4096, 0], ids=["op by op", "planned"])
def test_results_are_values(function, small_size):
    with tfr.config.override(small_size=small_size):
        for call in CALLS_OF[function]:
            check_results(call, tensors())
            check_operands(call, tensors())


@pytest.mark.parametrize("call", listed(OF_TENSORS))
def test_results_of_methods_and_protocols_are_values(call):
    check_results(call, tensors())
    check_operands(call, tensors())


@pytest.mark.parametrize("function", BY_NUMPY)
def test_results_of_numpys_functions_are_values(function):
    for call in BY_NUMPY[function]:
        check_results(call, tensors(), np)
        check_operands(call, tensors(), np)


@pytest.mark.sweep(4)
@pytest.mark.parametrize("function", CALLS_OF)
def test_arrays_may_change_after_a_call(function):
    for call in CALLS_OF[function]:
        check_operands(call, operands())
        held = Held()
        check_operands(call, held, changes=held.memory.values())


# with `y`, a tensor beside the arrays
OF_ARRAYS = """
y + x; x + y; y * x[::-1]; y - x; x > y; y ** x; y @ x; x @ y; np.add(y, x); np.hypot(x, y); np.where(b, x, y)
y[i]; y[b]; y[:, None][i[:, None], k[:1, 0]]; y[[i[0], i[1]]]; y[i, None]; y.take(i); y.searchsorted(x); y.dot(x)
y.clip(x); assigned(y, ..., x); assigned(y, i, x); assigned(y, b, x[:3]); assigned(y, b, z)
assigned(y, slice(2), x[:2])
assigned(y, [0, 2], [x[0], x[1]]); operator.iadd(y, x); operator.imul(y, x)
operator.imatmul(y[None] * y[:, None], x[None] * o[:, None])
np.meshgrid(y, x, copy=False); np.asarray([x, o], like=y); np.array(x, like=y); np.select([b], [x], y)
np.select([y > 2], [x]); np.append(y, x); np.concatenate([y, x]); concat([y, x]); stack([x, y]); asarray([y, x])
jit(lambda p, q: (p, q, p + q))(y, x); jit(lambda p: jit(lambda q: q)(p))(x); jit(lambda p: p[1:])(x)
"""


def assigned(tensor, key, value):
    tensor[key] = value
    return tensor


@pytest.mark.parametrize("call", listed(OF_ARRAYS))
def test_arrays_beside_tensors_may_change_after_a_call(call):
    def results(named):
        y = tfr.asarray([2.0, 1.0, 4.0, 3.0], device="numpy")
        return evaluated(call, {**named, "y": y, "assigned": assigned})

    wanted = elements(results(operands()))
    for named, memory in ((arrays := operands(), arrays), (held := Held(), held.memory)):
        pending, computed = results(named), results(named)
        assert_same(computed, wanted)
        for one in memory.values():
            change(one)
        assert_same(computed, wanted)
        assert_same(pending, wanted)


@pytest.mark.sweep(2)
@pytest.mark.parametrize("device", HELD)
@pytest.mark.parametrize("call", listed(ON_EVERY_DEVICE))
def test_results_are_values_on_every_device(call, device):
    check_results(call, tensors(device))
    check_operands(call, tensors(device))


def test_what_returns_its_operand_says_so():
    x = tfr.asarray([1.0, 2.0])
    y = x + 1
    assert tfr.asarray(x) is x
    assert tfr.asarray(x, dtype=x.dtype, device=x.device, copy=False) is x
    assert tfr.array(x, copy=None) is x
    assert tfr.astype(x, x.dtype, copy=False) is x
    assert x.compute() is x
    assert all(one is given for one, given in zip(tfr.compute(x, y), (x, y), strict=True))
    assert np.add(x, 1, out=y) is y


def test_the_frontend_takes_operands_as_handles_of_its_own():
    """Functions that take them by `asarray` may return the very tensor that they were given."""
    frontend = Path(tfr.__file__).parent / "frontend"
    # conversion itself, and what looks at a tensor only or documents that it returns it
    known = {
        "convert.py",
        "sequences.py",
        "operands.py",
        "data_types.py",
        "array_methods.py",
        "native.py",
    }
    known |= {"filled.py", "recording.py", "arguments.py", "smoke.py", "calibration.py"}
    known |= {"saving.py", "load_and_save.py", "file_objects.py", "subjects.py", "selection.py"}
    known |= {"grad_scaler.py"}  # whose numbers are its own
    known |= {"copies.py", "numpys_own.py"}  # which documents that it returns it
    known |= {"dispatch.py", "operand_nodes.py"}  # which take their nodes
    using = {
        path.name
        for path in frontend.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and any(name.name == "asarray" for name in node.names)
    }
    assert using <= known
