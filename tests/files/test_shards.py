"""The tensors of a model in several safetensors files are found by the index beside them."""

import json

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import FileFormatError, MissingFileError


def write(folder, files, weight_map=None):
    for name, tensors in files.items():
        tfr.save(folder / name, tensors)
    found = {key: name for name, tensors in files.items() for key in tensors}
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map or found}
    path = folder / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    return path


def test_tensors_of_all_files_are_loaded_and_read_when_needed(tmp_path):
    files = {
        "model-1.safetensors": {"a": tfr.arange(3), "b": tfr.ones((2, 2))},
        "model-2.safetensors": {"c": tfr.asarray([2.5])},
    }
    back = tfr.load(write(tmp_path, files))
    assert list(back) == ["a", "b", "c"]
    assert back["a"].node.storage is None
    assert (back["b"] + back["c"]).tolist() == [[3.5, 3.5]] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "no weight_map"),
        ('{"weight_map": []}', "no weight_map"),
        ('{"weight_map": {', "not valid JSON"),
        ('{"weight_map": {"a": "x", "a": "y"}}', "'a' appears twice"),
        ('{"weight_map": {"a": "../other.safetensors"}}', "no file beside the index"),
        ('{"weight_map": {"a": "/etc/passwd"}}', "no file beside the index"),
        ('{"weight_map": {"a": 3}}', "no file beside the index"),
        ('{"weight_map": {"z": "model-1.safetensors"}}', "'z' should be in model-1.safetensors"),
    ],
)
def test_an_index_that_is_wrong(text, message, tmp_path):
    path = write(tmp_path, {"model-1.safetensors": {"a": tfr.arange(3)}})
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        tfr.load(path)


def test_a_file_that_is_missing_is_named(tmp_path):
    path = write(tmp_path, {"model-1.safetensors": {"a": tfr.arange(3)}})
    (tmp_path / "model-1.safetensors").unlink()
    with pytest.raises(MissingFileError, match=r"model-1\.safetensors"):
        tfr.load(path)


def test_one_file_is_saved(tmp_path):
    with pytest.raises(FileFormatError, match="names several files, and one is written"):
        tfr.save(tmp_path / "model.safetensors.index.json", {"a": np.ones(3)})


@pytest.mark.parametrize(
    ("name", "hint"), [("x.h5", "h5py.File"), ("x.nc", "netCDF4"), ("x.xyz", "one of .npy")]
)
def test_formats_of_other_libraries_are_named_with_them(name, hint, tmp_path):
    with pytest.raises(FileFormatError, match="the suffix says the format") as caught:
        tfr.load(tmp_path / name)
    assert hint in str(caught.value)
    with pytest.raises(FileFormatError, match="the suffix says the format") as caught:
        tfr.save(tmp_path / name, np.ones(3))
    assert hint in str(caught.value)
    assert "from_reader" not in str(caught.value)
