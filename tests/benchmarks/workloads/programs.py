"""Programs of a few lines, as text for processes of their own: a first result, and a chain on a large array."""

from __future__ import annotations

_INPUTS = """
import numpy
a = numpy.linspace(-3, 3, 1_000_000, dtype=numpy.float32)
b = a[::-1].copy()
"""
_EXPRESSION = "exp(-a*a)*sin(b)+a/(1+b*b)"


def _of_tensorframe(device: str) -> str:
    return f"""{_INPUTS}
from tensorframe import asarray, exp, sin
a, b = asarray(a, device={device!r}), asarray(b, device={device!r})
({_EXPRESSION}).compute()
"""


FIRST_RESULTS = {
    "tensorframe": _of_tensorframe("cpu"),
    "NumPy": f"{_INPUTS}from numpy import exp, sin\n{_EXPRESSION}",
    "numexpr": f"{_INPUTS}import numexpr\nnumexpr.evaluate('{_EXPRESSION}')",
    "Numba": f"{_INPUTS}from tests.benchmarks.by_hand import expression\nexpression(a, b)",
    "JAX": f"""{_INPUTS}
from jax import jit
from jax.numpy import exp, sin
jit(lambda a, b: {_EXPRESSION})(a, b).block_until_ready()
""",
    "torch": f"""{_INPUTS}
from torch import exp, from_numpy, sin
a, b = from_numpy(a), from_numpy(b)
{_EXPRESSION}
""",
    "torch.compile": f"""{_INPUTS}
from torch import compile, exp, from_numpy, sin
compile(lambda a, b: {_EXPRESSION})(from_numpy(a), from_numpy(b))
""",
    "Dask": f"""{_INPUTS}
from dask.array import exp, from_array, sin
a, b = (from_array(x, chunks=500_000) for x in (a, b))
({_EXPRESSION}).compute()
""",
    "tinygrad": f"""{_INPUTS}
from tinygrad import Tensor
exp, sin = Tensor.exp, Tensor.sin
a, b = Tensor(a, device="CPU"), Tensor(b, device="CPU")
({_EXPRESSION}).numpy()
""",
    "PyTensor": f"""{_INPUTS}
from pytensor import function
from pytensor.tensor import exp, fvector, sin
x, y = a, b
a, b = fvector(), fvector()
function([a, b], {_EXPRESSION})(x, y)
""",
}

# the same, compiled whatever the first call would do by itself
COMPILED = _of_tensorframe("numba")  # as an older checkout calls it, too

_COMPILING = """
from time import perf_counter
import numpy, tensorframe as tfr
a, b = (tfr.asarray(numpy.ones((16, 512), numpy.float32), device="numba") for _ in range(2))
(a + 1).compute()
times = []
for _ in range(11):
    start = perf_counter()
    ({expression}).compute()
    times.append(perf_counter() - start)
print(times[0] - min(times[1:]))
"""
_COMPILED_ALONE = {
    "W1": "tfr.exp(-a*a)*tfr.sin(b)+a/(1+b*b)",
    "softmax": "tfr.softmax(a, -1)",
    "layer norm": "(a-tfr.mean(a, axis=1, keepdims=True))"
    "/tfr.sqrt(tfr.var(a, axis=1, keepdims=True)+1e-5)*b[0]+b[1]",
    "sum(log(a+1)*cos(a))": "tfr.sum(tfr.log(a+1)*tfr.cos(a), axis=1)",
}
# what the first call of an expression takes longer than the ones after it, in a process that has compiled before
COMPILING = {
    name: _COMPILING.format(expression=expression) for name, expression in _COMPILED_ALONE.items()
}

_PRINTING = """
from time import perf_counter
import numpy, tensorframe as tfr
from tensorframe.backends.llvm import lowering
a, b = (tfr.asarray(numpy.ones((16, 512), numpy.float32), device="numba") for _ in range(2))
(a + 1).compute()
printed, inner = [], lowering.printed_by_llvm
def timed(*given):
    start = perf_counter()
    text = inner(*given)
    printed.append(perf_counter() - start)
    return text
lowering.printed_by_llvm = timed
compiled = []
for call in ({calls}):
    times = []
    for _ in range(11):
        start = perf_counter()
        call().compute()
        times.append(perf_counter() - start)
    compiled.append(times[0] - min(times[1:]))
print(sum({wanted}))
"""
_CALLS = ", ".join(f"lambda: {expression}" for expression in _COMPILED_ALONE.values())
# what compiling all of them takes in one process, and what of that it takes to print the text for LLVM
ALL_COMPILED = _PRINTING.format(calls=_CALLS, wanted="compiled")
ALL_PRINTED = _PRINTING.format(calls=_CALLS, wanted="printed")

# who finds in a second process what was compiled in the first, without being told to keep it
KEEPERS = ("tensorframe", "torch.compile", "tinygrad", "PyTensor")

FILLED = """
import numpy
x = numpy.empty({elements}, numpy.float32)
x.fill(0.5)
half = numpy.float32(0.5)
"""
_CHAIN = """
y = x
for _ in range(10):
    y = sin(y) + half
"""
_FUNCTION = """
def chain(x):
    y = x
    for _ in range(10):
        y = sin(y) + half
    return y
"""
CHAINS = {
    "tensorframe": f"""
from tensorframe import asarray, sin
x = asarray(x, copy=False)
{_CHAIN}
y.compute()
""",
    "NumPy": f"from numpy import sin\n{_CHAIN}",
    "numexpr": """
from numexpr import evaluate
text = "x"
for _ in range(10):
    text = f"(sin({text}) + half)"
y = evaluate(text)
""",
    "Numba": """
from numba import njit, prange
from numpy import empty_like, sin
@njit(parallel=True)
def chain(x):
    result = empty_like(x)
    for i in prange(x.size):
        y = x[i]
        for _ in range(10):
            y = sin(y) + half
        result[i] = y
    return result
y = chain(x)
""",
    "JAX": f"""
from jax import jit
from jax.numpy import asarray, sin
half = 0.5
{_FUNCTION}
y = jit(chain)(asarray(x)).block_until_ready()
""",
    "torch": f"""
from torch import from_numpy, sin
x = from_numpy(x)
half = 0.5
{_CHAIN}
""",
    "torch.compile": f"""
from torch import compile, from_numpy, sin
half = 0.5
{_FUNCTION}
y = compile(chain)(from_numpy(x))
""",
    "Dask": f"""
from dask.array import from_array, sin
given, x = x, from_array(x)
{_CHAIN}
y = y.compute()
""",
    "tinygrad": f"""
from tinygrad import Tensor
sin, half = Tensor.sin, 0.5
given, x = x, Tensor(x, device="CPU")
{_CHAIN}
y = y.numpy()
""",
    "PyTensor": f"""
from pytensor import function
from pytensor.tensor import fvector, sin
given, x = x, fvector()
{_CHAIN}
y = function([x], y)(given)
""",
}
