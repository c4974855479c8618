"""Run as a program: adds floating dtypes of eight bits, each a record, before the package is there, and uses them.

`python -m tests.kernel.new_dtypes numpy` says nothing where they are stored, computed and converted as they should be.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

PACKAGE = Path(__file__).parents[2] / "tensorframe"
NEW = ("float8_e5m2", "float8_e4m3fn")


def loaded(name):
    """A module of the package, without the package."""
    spec = importlib.util.spec_from_file_location(f"tensorframe.{name}", PACKAGE / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def define():
    """The records: all that is said of the new dtypes."""
    loaded("quick_tuples")
    formats = loaded("formats")
    first, second = NEW
    rest = {"wide": "float32"}
    formats.FORMATS += (
        formats.Format(first, "float", "F8_E5M2", exponent=5, fraction=2, dlpack=12, **rest),
        formats.Format(
            second, "float", "F8_E4M3", exponent=4, fraction=3, infinite=False, dlpack=10, **rest
        ),
    )


def same(found, expected):
    """The same bits, but that any NaN will do."""
    assert found.dtype == expected.dtype, found.dtype
    known = ~np.isnan(expected.astype(np.float32))
    assert (np.isnan(found.astype(np.float32)) == ~known).all()
    words = f"u{found.itemsize}"
    np.testing.assert_array_equal(found.view(words)[known], expected.view(words)[known])


def numbers(dtype):
    """Numbers of float32 from all of its range, and those that a narrow dtype rounds hardest: middles, and beside."""
    bits = np.arange(0, 2**32, 1_000_003, np.uint64).astype(np.uint32)
    every = np.sort(np.arange(256, dtype=np.uint8).view(dtype).astype(np.float32))
    every = every[np.isfinite(every)]
    middles = ((every[1:].astype(np.float64) + every[:-1]) / 2).astype(np.float32)
    most = np.float32(every[-1] + (every[-1] - every[-2]) / 2)
    ends = np.array([most, -most, np.inf, -np.inf, np.nan], np.float32)
    near = np.concatenate([middles, ends])
    beside = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([bits.view(np.float32), near, *beside])


def converts(tfr, dtype, device):
    every = np.arange(256, dtype=np.uint8).view(dtype)
    wide = every.astype(np.float32)
    found = tfr.astype(tfr.asarray(every, device=device), tfr.float32).numpy()
    np.testing.assert_array_equal(found, wide)
    values = numbers(dtype)
    with np.errstate(all="ignore"):
        expected = values.astype(dtype)
    same(tfr.astype(tfr.asarray(values, device=device), dtype.name).numpy(), expected)


def computes(tfr, dtype, device):
    values = np.linspace(-3, 3, 3000, dtype=np.float32).reshape(60, 50).astype(dtype)
    wide = values.astype(np.float32)
    x = tfr.asarray(values, device=device)
    # rounded after every op
    product = (wide * np.float32(0.75)).astype(dtype).astype(np.float32)
    result = x * 0.75 + x
    assert result.explain().kernels == 1 or device == "numpy"
    same(result.numpy(), (product + wide).astype(dtype))
    same(tfr.full((3,), 1.5, dtype=dtype.name, device=device).numpy(), np.full(3, 1.5, dtype))
    same(tfr.arange(5, dtype=dtype.name, device=device).numpy(), np.arange(5).astype(dtype))
    # not after every element of a sum, whose magnitude would outgrow steps
    same(tfr.sum(abs(x), axis=1).numpy(), np.abs(wide).sum(axis=1).astype(dtype))
    same(tfr.max(x, axis=0).numpy(), wide.max(axis=0).astype(dtype))
    assert (x > 1).sum().item() == (wide > 1).sum()
    lines = tfr.sort(x, axis=1, descending=True)
    same(lines.numpy(), np.sort(wide, axis=1)[:, ::-1].astype(dtype))


def is_known(tfr, dtype):
    """What has nothing to do with devices: promotion, limits, text, files, other libraries."""
    assert tfr.result_type(dtype, tfr.int64) == dtype
    assert tfr.result_type(dtype, tfr.float16) == tfr.float16
    assert tfr.result_type(*NEW) == tfr.float16
    assert tfr.result_type(dtype, tfr.complex64) == tfr.complex64
    assert tfr.isdtype(dtype, "real floating")
    assert tfr.finfo(dtype).max == float(ml_dtypes.finfo(dtype).max)
    x = tfr.asarray(np.asarray([0.5, -2.0, 3.0]).astype(dtype))
    assert repr(x).startswith("Tensor([ 0.5, -2. ,  3. ], dtype=float8")
    assert "0.5" in x._repr_html_()
    same(tfr.from_dlpack(x).numpy(), x.numpy())
    same(tfr.unique(tfr.concat([x, x])).numpy(), np.sort(x.numpy().astype("f4")).astype(dtype))
    assert tfr.random.uniform((50,), dtype=dtype.name, key=tfr.random.key(1)).max().item() < 1
    with tempfile.TemporaryDirectory() as folder:
        tfr.save(f"{folder}/x.safetensors", {"x": x})
        same(tfr.load(f"{folder}/x.safetensors")["x"].numpy(), x.numpy())


if __name__ == "__main__":
    define()
    import tensorframe

    for one in NEW:
        new = np.dtype(getattr(ml_dtypes, one))
        is_known(tensorframe, new)
        converts(tensorframe, new, sys.argv[1])
        computes(tensorframe, new, sys.argv[1])
