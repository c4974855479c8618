"""Raw kernels in CUDA C++: compiled by NVRTC for two generations, and run as C++ on the processor."""

import re

import numpy as np
import pytest

import tensorframe as tfr
from examples.raw_kernels.bilateral import bilateral
from examples.raw_kernels.mandelbrot import mandelbrot
from examples.raw_kernels.segmented_scan import segmented_scan
from tensorframe.codegen.cuda import DIALECT
from tensorframe.codegen.raw.c import print_raw
from tensorframe.errors import KernelError

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tensorframe.backends.cuda import libraries, queue
from tensorframe.backends.cuda.compiler import compiled
from tests.backends import host_gpu
from tests.raw_kernels.test_programs import images, scanned, segments

X = np.linspace(-1, 1, 9, dtype=np.float32)
ROWS = {
    "mandelbrot": lambda: mandelbrot()(X, X, 9)[0].node.inputs[0],
    "mandelbrot in float64": lambda: mandelbrot()(X.astype("f8"), X.astype("f8"), 9)[0].node.inputs[
        0
    ],
    "bilateral": lambda: bilateral()(images(), 0.1, 2.0).node,
    "segmented scan": lambda: segmented_scan()(*segments()).node,
    "segmented scan of int64": lambda: segmented_scan()(*segments("int64")).node,
}


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ROWS)
def test_every_program_compiles(name, architecture):
    text = print_raw(ROWS[name]().op.raw, DIALECT, most=256)
    assert compiled(text.name, text.source, architecture)


def test_an_error_names_the_line_of_the_body():
    wrong = bilateral(source={"cuda": "float y = 1;\nfloat z = missing(y);\nout[i * w + j] = z;"})
    text = print_raw(wrong(images(), 0.1, 2.0).node.op.raw, DIALECT, most=256)
    with pytest.raises(KernelError) as caught:
        compiled(text.name, text.source, "sm_90")
    error = queue.failure(text, caught.value.message)
    assert re.search(
        r'CUDA C\+\+ does not compile: identifier "missing" is undefined', error.message
    )
    assert "line 2 of the body" in error.message
    assert ">   2 | float z = missing(y);" in error.message


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(libraries, "CALLS", {})
    with host_gpu.host_gpu() as found:
        yield found


@pytest.mark.skipif(host_gpu.COMPILER is None, reason="no C++ compiler here")
def test_what_they_compute(gpu):
    with tfr.config.override(small_size=0, small_nodes=0):
        x = tfr.asarray(X, device="cuda")
        steps, size = mandelbrot()(x, x * 1.0, 9)
        known = mandelbrot()(tfr.asarray(X, device="numpy"), tfr.asarray(X, device="numpy"), 9)
        assert str((steps + 1).device) == "cuda"
        assert steps.tolist() == known[0].tolist()
        assert np.allclose(size.numpy(), known[1].numpy(), rtol=1e-4)
        image = tfr.asarray(images(), device="cuda")
        by_numpy = bilateral()(tfr.asarray(images(), device="numpy"), 0.1, 2.0)
        assert np.allclose(bilateral()(image, 0.1, 2.0).numpy(), by_numpy.numpy(), rtol=1e-4)
        values, first = segments()
        sums = segmented_scan(block=4)(
            tfr.asarray(values, device="cuda"), tfr.asarray(first, device="cuda")
        )
        assert sums.tolist() == scanned(values, first).tolist()
