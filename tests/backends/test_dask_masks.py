"""Masks on Dask's device select beside the blocks: what comes here is how many elements each block has."""

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.backends.registry import backend_of

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from tensorframe.backends.dask import within  # noqa: E402
from tests.backends.dask_room import pool_with  # noqa: E402

LAYOUTS = [
    ((100,), (13,)),
    ((20, 9), (7, 9)),
    ((20, 9), (6, 4)),
    ((7, 6, 5), (3, 2, 5)),
    ((7, 6, 5), (2, 6, 3)),
]


@pytest.fixture(autouse=True)
def one_after_the_other():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def downloads(monkeypatch):
    """Bytes of all that comes to the host."""
    backend = backend_of(tfr.Device("dask"))
    sizes = []
    download = backend.download

    def counted(storage):
        sizes.append(storage.nbytes)
        return download(storage)

    monkeypatch.setattr(backend, "download", counted)
    return sizes


def array(shape, chunks):
    values = np.random.default_rng(0).standard_normal(shape).astype("float32")
    return values, tfr.from_native(da.from_array(values, chunks=chunks))


@pytest.mark.parametrize(("shape", "chunks"), LAYOUTS)
@pytest.mark.parametrize("least", [0.5, -99, 99], ids=["some", "all", "none"])
def test_elements_where_a_mask_holds_have_numpys_order(shape, chunks, least, downloads):
    values, x = array(shape, chunks)
    holds = values > least
    chosen = x[x > least]
    firsts = x[tfr.reshape(x > least, (shape[0], -1))[:, 0]]
    doubled = tfr.compute(chosen * 2)[0]
    flat, rows = tfr.flatnonzero(x > least), tfr.argwhere(x > least)
    places = tfr.nonzero(x > least)
    assert not downloads
    assert chosen.device == doubled.device == rows.device == "dask"
    assert np.array_equal(chosen, values[holds])
    assert np.array_equal(doubled, values[holds] * 2)
    assert np.array_equal(firsts, values[holds.reshape(shape[0], -1)[:, 0]])
    assert np.array_equal(flat, np.flatnonzero(holds))
    assert np.array_equal(rows, np.argwhere(holds))
    for own, numpys in zip(places, np.nonzero(holds), strict=True):
        assert own.dtype == numpys.dtype
        assert np.array_equal(own, numpys)


def test_blocks_follow_those_of_what_is_selected_from():
    """Each gives what it has; the ones that have nothing are gone."""
    values, x = array((40, 6), (10, 3))
    holds = np.zeros(40, bool)
    holds[[3, 4, 25]] = True
    chosen = x[tfr.asarray(holds, device="dask")].native()
    assert chosen.chunks == ((2, 1), (3, 3))
    assert np.array_equal(chosen.compute(), values[holds])


def test_lines_that_a_mask_needs_whole_are_cut_elsewhere():
    """Elements follow each other in C order: blocks of a mask with two axes are rows."""
    tfr.backends.configure("dask", chunk="1 KiB")
    try:
        values, x = array((64, 64), (16, 16))
        chosen = x[x > 0]
        assert len(chosen.native().chunks[0]) == 16
        assert np.array_equal(chosen, values[values > 0])
    finally:
        tfr.backends.configure("dask", chunk=None)


def test_masks_of_the_host_go_to_the_blocks(downloads):
    values, x = array((40, 6), (10, 3))
    holds = values[:, 0] > 0
    assert np.array_equal(x[tfr.asarray(holds, device="cpu")], values[holds])
    assert downloads == [values[holds].nbytes]


def test_gradients_know_what_was_selected():
    values, x = array((30,), (7,))
    slope = tfr.grad(lambda x: tfr.sum(x[x > 0] ** 2))(x)
    assert np.array_equal(slope, np.where(values > 0, 2 * values, 0))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_of_nothing_there_is_nothing(shape):
    x = tfr.zeros(shape, device="dask")
    assert x[x > 0].shape == (0,)
    assert tfr.argwhere(x).shape == (0, 2)


def test_a_mask_that_does_not_fit_is_an_error():
    _, x = array((30,), (7,))
    with pytest.raises(tfr.errors.IndexingError, match="a mask of shape"):
        x[tfr.ones(29, dtype=bool, device="dask")]


def test_a_block_that_there_is_no_room_for_is_refused(monkeypatch):
    _, x = array((100_000,), (100_000,))
    mask = (x > 0).compute()
    monkeypatch.setattr(within, "pool", pool_with(100))
    with pytest.raises(tfr.errors.OutOfMemoryError, match="are needed"):
        x[mask]
