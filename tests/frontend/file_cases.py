"""Arrays in files: which shapes and dtypes, and files that are written by hand."""

import io
import json
import zipfile
from typing import Any

import numpy as np

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.frontend.operand_nodes import data_node

SHAPES = ((), (1,), (5,), (0,), (2, 3), (0, 3), (2, 0, 3), (3, 1, 4))


ALL = list(dtypes.BY_NAME.values())


NUMBERS: Any = {"a": 1}


SUFFIXES = (".npz", ".npy", ".safetensors")


HELD = {".npz": ALL, ".npy": ALL, ".safetensors": [one for one in ALL if one != tfr.complex128]}


def tensor(array):
    return tfr.Tensor(data_node(np.asarray(array)))


def values(dtype, shape, seed=0):
    """Random elements, the bits of NaN included."""
    generator = np.random.default_rng(seed)
    count = int(np.prod(shape, dtype=int))
    if dtype == tfr.bool_:
        return generator.integers(0, 2, count).astype(dtype).reshape(shape)
    raw = generator.integers(0, 256, count * dtype.itemsize).astype(np.uint8)
    return raw.view(dtype).reshape(shape)


def same_bits(array, wanted):
    return (
        array.dtype == wanted.dtype
        and array.shape == wanted.shape
        and array.tobytes() == wanted.tobytes()
    )


def save_one(path, array):
    tfr.save(path, tensor(array) if path.suffix == ".npy" else {"x": tensor(array)})


def load_one(path):
    loaded = tfr.load(path)
    return loaded if path.suffix == ".npy" else loaded["x"]


def write_safetensors(folder, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = folder / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def npy_file(path, header, data=b""):
    text = header.encode("latin1")
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data)


def damaged(content, source):
    """One to three bytes changed, or an end or a middle cut out, or repeated."""
    content = bytearray(content)
    for _ in range(source.randint(1, 3)):
        at, width = source.randrange(len(content) + 1), source.randint(1, 16)
        kind = source.randrange(8)
        if kind == 0:
            del content[at:]
        elif kind == 1:
            del content[at : at + width]
        elif kind == 2:
            content[at:at] = content[at : at + width]
        elif content:
            content[at % len(content)] = source.choice([0, 255, source.randrange(256)])
    return bytes(content)


def npz_of(path, members, *, compressed=True):
    """A zip file of these bytes by name."""
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy_bytes(array, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asanyarray(array), version=version)
    return file.getvalue()
