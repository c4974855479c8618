"""The stack of satellite scenes is reduced tile by tile, to what NumPy makes of it."""

import sys

import numpy as np
import pytest

import tensorframe as tfr
from examples.satellite import __main__ as program
from examples.satellite.greenness import BANDS, anomalies, run
from examples.satellite.scenes import CLOUD, GAP, Scenes
from tensorframe.backends.registry import backend_of
from tensorframe.graph.device import CPU
from tensorframe.runtime.streaming import out_of_core

DAYS, SIDE = 120, 120


@pytest.fixture
def streamed(monkeypatch):
    """The streams that run, in the room of a few scenes."""
    runs = []
    run_stream = out_of_core.run_stream

    def noted(planned, targets):
        runs.append(planned)
        run_stream(planned, targets)

    monkeypatch.setattr(out_of_core, "run_stream", noted)
    budget = backend_of(CPU).budget(CPU)
    monkeypatch.setattr(type(budget), "room", lambda _: 3 << 20)
    monkeypatch.setattr(type(budget), "has_room", lambda *_: True)  # for the compiler
    budget.credit = 0
    return runs


def test_it_is_computed_in_tiles_and_right(tmp_path, streamed):
    run(tmp_path, DAYS, SIDE)
    assert len(streamed) == 3  # two bands, and what is found in them
    assert streamed[-1].stream.cut.axis == 1  # all days of some rows: one pass
    red, near_infrared = (np.load(tmp_path / f"{band}.npy") for band in BANDS)
    assert np.array_equal(red[3:5, 10:20], Scenes(DAYS, SIDE, near_infrared=False)[3:5, 10:20, :])
    seen = (red != GAP) & (red < CLOUD)
    assert 0.4 < seen.mean() < 0.9
    red, near_infrared = red.astype("f8"), near_infrared.astype("f8")
    with np.errstate(all="ignore"):
        green = np.where(seen, (near_infrared - red) / (near_infrared + red), np.nan)
    mean = np.nanmean(green, axis=0)
    found = {
        name: part.numpy() for name, part in tfr.load(tmp_path / "greenness.safetensors").items()
    }
    assert np.array_equal(found["seen"], seen.sum(axis=0))
    np.testing.assert_allclose(found["mean"], mean, atol=1e-6)
    np.testing.assert_allclose(found["anomaly"], green - mean, atol=1e-6)


def test_it_has_the_bits_of_a_run_in_memory(tmp_path, streamed):
    run(tmp_path, DAYS, SIDE)
    tiles = {
        name: part.numpy() for name, part in tfr.load(tmp_path / "greenness.safetensors").items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(backend_of(CPU).budget(CPU)), "room", lambda _: 1 << 40)
        whole = anomalies(tmp_path)
        tfr.compute(*whole.values())
    assert all(tiles[name].tobytes() == part.numpy().tobytes() for name, part in whole.items())


def test_the_program_says_what_it_took(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(program, "DAYS", 20)
    arguments = ["satellite", "--size", "1 MB", "--limit", "8 GiB", "--folder", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    program.main()
    assert "1 MB of scenes" in capsys.readouterr().out
