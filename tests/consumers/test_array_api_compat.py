"""array-api-compat, which SciPy and scikit-learn build on, recognises tensors and asks them cheap questions."""

from __future__ import annotations

import math

import array_api_compat as compat
import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.runtime.execution.events import Moment, listen


def test_tensors_are_array_api_objects_of_this_namespace():
    tensor = tfr.ones(3)
    assert compat.is_array_api_obj(tensor)
    assert compat.array_namespace(tensor, tensor) is tfr
    assert not compat.is_numpy_array(tensor)


def test_arrays_and_tensors_in_one_call_are_two_namespaces():
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(tfr.ones(3), np.ones(3))


def test_device_size_and_transfer_work_through_the_helpers():
    tensor = tfr.ones((2, 3))
    assert compat.device(tensor) == "cpu"
    assert compat.size(tensor) == 6
    assert compat.to_device(tensor, "numpy").device == "numpy"


@pytest.mark.parametrize("probe", [compat.is_lazy_array, compat.is_array_api_obj, compat.size])
def test_probes_of_a_recorded_tensor_compute_next_to_nothing(probe):
    made = []

    def note(event):
        if event.moment is Moment.STEP_FINISHED:
            step = event.plan.steps[event.step]
            made.extend(math.prod(event.plan.slots[slot].shape) for slot in step.outputs)

    huge = tfr.sqrt(tfr.full((40_000, 25_000), 4.0) + 5)
    with listen(note):
        probe(huge)
    assert sum(made) <= 10
    assert not huge.is_computed
