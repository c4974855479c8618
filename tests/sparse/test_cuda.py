"""Kernels of sparse products for CUDA: compiled by NVRTC, and run as C++ on the processor."""

import pytest

import tensorframe as tfr
from tests.sparse.matrices import compare, random_case
from tests.sparse.test_products import EVERYWHERE

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tensorframe.backends.cuda import libraries
from tests.backends import host_gpu
from tests.backends.cuda_kernels import compile_all


def test_kernels_compile():
    with host_gpu.recorded() as texts, tfr.use_backend("cuda"):
        case = random_case(9, ("float32",))
        for dtype in ("float32", "complex64"):
            tensor = case.ours("cuda").astype(dtype)
            x, y = tfr.asarray(case.right.astype(dtype)), tfr.asarray(case.left.astype(dtype))
            tfr.compute(tensor @ x, tensor.sum(1), tensor.tocoo().row + 1)
            if dtype != "complex64":  # whose transposed products the cpu makes
                tfr.compute(y @ tensor)
            if dtype == "float32":
                tfr.grad(lambda a, x=x: ((a @ x) ** 2).sum())(tensor).data.compute()
    assert len(texts) > 6
    compile_all(texts, "sm_90")


@pytest.mark.skipif(host_gpu.COMPILER is None, reason="there is no C++ compiler")
def test_kernels_compute_what_scipy_does(monkeypatch):
    monkeypatch.setattr(libraries, "CALLS", {})
    with host_gpu.host_gpu():
        compare(random_case(2, EVERYWHERE), "cuda")
