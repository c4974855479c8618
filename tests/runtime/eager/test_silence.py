"""Silence: NumPy warns of nothing inside an evaluation, and the state that users gave it stays."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends import silence
from tests.runtime.small_calls import SIZES, operands


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", SIZES)
def test_numpy_warns_of_nothing_and_keeps_its_state(size):
    x = tfr.asarray(np.full(size, 3e38, np.float32))
    with np.errstate(over="raise"):
        for _ in range(3):
            (x * 10).compute()
            (x * x).compute()
        assert np.geterr()["over"] == "raise"
        with pytest.raises(FloatingPointError):
            x.numpy() * np.float32(10)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("known", [True, False])
def test_silence_works_with_and_without_numpys_variable(known, monkeypatch):
    if not known:
        monkeypatch.setattr(silence, "_found", lambda: None)
    begin, silent, end = silence._functions()
    before = np.geterr()
    huge = np.full(3, 3e38, np.float32)
    token = begin(silent)
    try:
        assert np.isinf(huge * huge).all()
    finally:
        end(token)
    assert np.geterr() == before
    assert silence._functions() is not None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("known", [True, False])
def test_functions_called_silently_leave_numpys_state_alone(known, monkeypatch):
    if not known:
        monkeypatch.setattr(silence, "_found", lambda: None)
    silently = silence._runner()
    huge = np.full(3, 3e38, np.float32)
    with np.errstate(over="raise"):
        assert np.isinf(silently(np.multiply, huge, huge)).all()
        with pytest.raises(FloatingPointError):
            huge * huge


def test_a_call_inside_a_call_has_another_way():
    x, y = operands(10)
    expected = (x - y).numpy()
    # as in another thread, or a signal's handler
    inside = silence.silently((x - y).numpy)
    assert inside.tobytes() == expected.tobytes()


def test_numpys_state_is_found_without_a_name_of_its():
    assert silence._found() is not None
