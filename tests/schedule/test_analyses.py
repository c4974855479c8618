"""Loops are found once: by fusion, or for what runs alone when somebody asks; all that follows takes them along."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.graph.region import Region, RegionOp
from tensorframe.kernel.spaces import analyse as analysing
from tensorframe.kernel.spaces.analyse import analyse, space_of
from tensorframe.kernel.spaces.complex import in_parts
from tensorframe.kernel.spaces.expand import expanded
from tensorframe.ops.movement import PAD
from tests.backends.devices import FOUND
from tests.kernel.interpreted import planned

X = np.random.default_rng(7).normal(size=(40, 64)).astype(np.float32)
Z = (X + 1j * X[::-1]).astype(np.complex64)


with_kernels = pytest.mark.parametrize("device", ["llvm", *FOUND])


def softmax(x):
    e = tfr.exp(x - tfr.max(x, axis=1, keepdims=True))
    return (e / tfr.sum(e, axis=1, keepdims=True),)


FUSED = {
    "elementwise": (X, lambda x: (x * 2 + tfr.sin(x),)),
    "in place of an intermediate": (X, lambda x: (tfr.sum(x * 2) + x * 2,)),
    "passes over rows": (X, softmax),
    "positions of extremes": (X, lambda x: (tfr.argmax(x * 2, axis=1),)),
    "positions in several axes": (X, lambda x: (tfr.argmax(tfr.reshape(x + 1, (-1,))),)),
    "readers of one tensor": (X, lambda x: (tfr.max(x, axis=0), tfr.mean(x, axis=0), x.mT + 1)),
    "complex": (Z, lambda z: (z * tfr.conj(z) + 1, tfr.sum(z, axis=1))),
    "a complex number twice": (Z, lambda z: (tfr.exp(z), tfr.real(tfr.exp(z)))),
    "pieces": (X, lambda x: (tfr.concat([x * 2, tfr.flip(x)], axis=1) + 1,)),
    "a scan": (X, lambda x: (tfr.cumulative_sum(x * x, axis=1) / 2,)),
}


@pytest.fixture
def analyses(monkeypatch):
    """The regions whose loops are found apart from fusion."""
    regions = []
    real = analysing._found
    monkeypatch.setattr(
        analysing, "_found", lambda region: (regions.append(region), real(region))[1]
    )
    return regions


@pytest.mark.sweep(3)
@with_kernels
@pytest.mark.parametrize("name", FUSED)
def test_what_fusion_made_is_never_analysed_again(name, device, analyses):
    values, make = FUSED[name]
    for array in (values, values.T.copy().T):  # of both layouts, each with kernels of its own
        x = tfr.asarray(array, device=device)
        results = tfr.compute(*make(x))
        assert analyses == []
        for found, expected in zip(results, make(tfr.asarray(array, device="numpy")), strict=True):
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-5, atol=2e-5)
        analyses.clear()  # a view that is downloaded is copied in loops of its own


@pytest.mark.parametrize("name", FUSED)
def test_fusion_and_analysis_find_the_same_loops(name):
    values, make = FUSED[name]
    plan, _ = planned(*make(tfr.asarray(values, device="llvm")))
    for step in plan.steps:
        for region in (step.region, in_parts(expanded(step.region)).region):
            if region.space is not None:
                again = analyse(Region(region.inputs, region.ops, region.outputs))
                assert region.space == again, str(region)


@with_kernels
def test_what_runs_alone_is_analysed_once(device, analyses):
    assert tfr.arange(1000, device=device).numpy()[-1] == 999
    assert len(analyses) <= 1  # none where no kernel counts


def test_a_region_made_by_hand_keeps_its_loops(analyses):
    shape, dtype = (3, 4), np.dtype("float32")
    whole = tuple(size + 2 for size in shape)
    op = RegionOp(PAD, ((1, 1), (1, 1), 0), (0,), whole, dtype)
    region = Region(((shape, dtype),), (op,), (1,))
    assert space_of(region) is space_of(region)
    assert analyses == [region]
