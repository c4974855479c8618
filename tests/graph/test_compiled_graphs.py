"""Random programs in compiled kernels give NumPy's results, and the same bits fused and op by op."""

import pytest

import tensorframe as tfr
from tensorframe.testing.compare import assert_close
from tensorframe.testing.random_graph import check, program_of
from tests.kernel.blocks import small_blocks

pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")

CHUNK = 40
# results of inexact numbers depend on the order in which these take them in
ORDERED = ("sum", "mean", "prod", "std", "var", "norm", "matmul", "@", "trapezoid", "logsumexp")


@pytest.fixture
def blocks():
    with small_blocks():
        yield


@pytest.mark.parametrize("start", range(30_000, 30_080, CHUNK))
def test_programs_agree_with_numpy(start):
    for seed in range(start, start + CHUNK):
        check(seed, device="llvm")


@pytest.mark.parametrize("start", range(31_000, 31_120, CHUNK))
def test_programs_in_every_form_of_kernel_agree_with_numpy(start, blocks):
    for seed in range(start, start + CHUNK):
        check(seed, device="llvm")


def test_long_programs_in_every_form_of_kernel_agree_with_numpy(blocks):
    for seed in range(32_000, 32_020):
        check(seed, moves=40, device="llvm")


def test_what_validation_says_of_kernels_is_right(blocks):
    for seed in range(33_000, 33_040):
        check(seed, device="llvm", validate=True)


def test_the_cpu_agrees_when_kernels_begin_at_once(blocks, monkeypatch):
    monkeypatch.setattr("tensorframe.backends.cpu.choice.ENOUGH", -1)
    for seed in range(34_000, 34_040):
        check(seed, device="cpu")


def test_programs_have_the_same_bits_fused_and_op_by_op(blocks):
    for seed in range(35_000, 35_040):
        program = program_of(seed, device="llvm")
        inexact = any(name in program.body() for name in ORDERED)
        fused, alone = program.run(), program.with_options(fuse=False).run()
        for result, one, other in zip(program.results, fused, alone, strict=True):
            atol = result.atol if inexact else 0.0
            assert_close(one, other, atol=atol, name=f"seed {seed}: v{result.variable}")


def test_fusion_is_what_is_tested(blocks):
    """Otherwise programs would run op by op in any case."""
    kernels = {True: 0, False: 0}
    for seed in range(35_000, 35_010):
        program = program_of(seed, device="llvm")
        for fuse in kernels:
            with tfr.config.override(fuse=fuse, small_size=0), tfr.use_backend("llvm"):
                results = program.pick(program.values(tfr))
                kernels[fuse] += tfr.explain(*results).kernels
    assert kernels[True] < 0.7 * kernels[False]
