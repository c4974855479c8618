"""Files that are mapped into memory, and cut meanwhile: an error that says so, never the end of the process."""

import io
import os

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FileFormatError

HOST = [name for name in ("cpu", "numpy", "llvm") if name in tfr.backends.available()]
USES = {
    "numpy": lambda x: x.numpy(),
    "an element": lambda x: x[3, 1].item(),
    "a view": lambda x: x[2:].compute(),
    "one op": lambda x: (x + 1).compute(),
    "a plan": lambda x: tfr.sum(tfr.exp(x) * x, axis=0).compute(),
    "a reduction": lambda x: tfr.sum(x).item(),
    "jit": lambda x: tfr.jit(lambda y: tfr.tanh(y) * 2)(x).compute(),
    "saving": lambda x: tfr.save(io.BytesIO(), x),
}


@pytest.fixture(params=HOST)
def loaded(request, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(40_000, dtype=np.float32).reshape(1000, 40))
    x = tfr.load(path, device=request.param)
    x.compute()
    return path, x


@pytest.mark.parametrize("use", USES)
def test_a_file_that_was_cut_is_an_error_with_both_sizes_and_the_line(loaded, use):
    path, x = loaded
    os.truncate(path, 4096 * 3)
    with pytest.raises(
        FileFormatError, match=r"was cut .* 160128 bytes .* 12288 are left"
    ) as error:
        USES[use](x)
    assert "test_mapped.py" in str(error.value)


def test_views_look_at_the_file_too(loaded):
    path, x = loaded
    part = x[500:].compute()
    os.truncate(path, 4096)
    with pytest.raises(FileFormatError, match="was cut"):
        (part * 2).compute()


@pytest.mark.parametrize("key", [np.s_[990], np.s_[990:], np.s_[990, 1:], np.s_[990, 1]], ids=str)
def test_views_of_few_elements_look_at_the_file_too(loaded, key):
    path, x = loaded
    part, copy = x[key], x[tfr.asarray([990])].compute()
    rows = list(x[990:])
    os.truncate(path, 4096)
    for view in (part, rows[0]):
        with pytest.raises(FileFormatError, match="was cut"):
            view.tolist()
    assert copy[0, 0].item() == 990 * 40


def test_a_file_that_grows_or_is_replaced_stays_as_it_was_loaded(loaded):
    path, x = loaded
    with path.open("ab") as file:
        file.write(b"more")
    assert x[1, 0].item() == 40
    tfr.save(path, tfr.zeros(3))  # another file takes the name
    assert tfr.sum(x[:2]).item() == sum(range(80))
