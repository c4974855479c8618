"""A kernel that is built again, while all expressions of the first time still exist, is the same kernel."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.kernel.ir import expressions
from tests.backends.devices import FOUND, some
from tests.builds import forget_builds

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

WORK = {
    "map": lambda x, y: tfr.exp(-x * x) * tfr.sin(y),
    "rows": lambda x, y: tfr.softmax(x + y, axis=1),
    "columns": lambda x, y: x - tfr.mean(y, axis=0),
    "parts": lambda x, y: tfr.sum(x * y),
    "scan": lambda x, y: tfr.cumulative_sum(x * y, axis=1),
    "pieces": lambda x, y: tfr.concat([x, tfr.pad(y, 1)[:, 2:]], axis=0) * 2,
    "gather": lambda x, y: tfr.take(x, tfr.asarray([3, 1, 2], device=x.device), axis=0) + y[0],
    "sort": lambda x, y: tfr.sort(y, axis=0)[1:, ::2],
    "product": lambda x, y: tfr.tanh(x @ y.T + y[:, 0]) * 2,
    "long product": lambda x, y: tfr.reshape(x, (1, -1)) @ tfr.reshape(y, (-1, 1)),
    "search": lambda x, y: tfr.searchsorted(tfr.sort(x[0]), y),
}


@pytest.mark.sweep(3)
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("device", ["llvm", *FOUND])
def test_a_kernel_is_built_again_beside_the_first(monkeypatch, device, work):
    held = []
    make = expressions._intern

    def keep(*arguments, **fields):
        held.append(make(*arguments, **fields))
        return held[-1]

    monkeypatch.setattr(expressions, "_intern", keep)
    x, y = [tfr.asarray(some((24, 40), "float32", seed), device=device) for seed in (1, 2)]
    tfr.compute(x, y)  # they move once
    texts, results = [], []
    for _ in range(2):
        forget_builds()
        with tfr.config.override(small_size=0, small_nodes=0):
            found = WORK[work](x, y)
            texts.append(str(found.explain(source=True)))
            results.append(found.numpy())
    assert texts[0] == texts[1]
    np.testing.assert_array_equal(*results)
