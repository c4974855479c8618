"""xarray labels tensors, and keeps them tensors through arithmetic, reductions and groups."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tensorframe as tfr

VALUES = np.arange(24.0).reshape(4, 6)

EXPRESSIONS = [
    "d * 2 + d - 1",
    "1 - d",
    "np.sin(d)",
    "d.data + d",
    "d.sum()",
    "d.mean('t')",
    "d.std('x')",
    "d.var('x', ddof=1)",
    "d.max('x')",
    "d.median('x')",
    "d.quantile(0.5, 'x')",
    "d.argmax('x')",
    "d.count('x')",
    "(d > 2).any('x')",
    "d.cumsum('x')",
    "d.isel(t=0)",
    "d.isel(x=slice(1, None, 2))",
    "d.sel(x=[1, 3])",
    "d.where(d > 5)",
    "d.where(d > 5).fillna(0.0)",
    "d.clip(2, 5)",
    "d.astype('float32')",
    "d.T",
    "d.stack(z=('t', 'x'))",
    "d.pad(x=1)",
    "d.roll(x=1)",
    "d.shift(x=1)",
    "d.diff('x')",
    "d.coarsen(x=2).mean()",
    "d.groupby('t').mean()",
    "d.groupby('t').sum()",
    "d.rolling(x=3).mean()",
    "d.rolling(x=3, center=True).sum()",
    "d.rolling(x=2, min_periods=1).max()",
    "d.rolling(x=3).construct('w')",
    "d.polyfit('x', 2).polyfit_coefficients",
    "xr.polyval(d.x, d.polyfit('x', 1).polyfit_coefficients)",
    "d.cumprod('x')",
    "d.differentiate('x')",
    "d.integrate('x')",
    "d.idxmax('x')",
    "d.sortby('x', ascending=False)",
    "xr.concat([d, d], 't')",
    "xr.dot(d, d, dim='x')",
    "xr.apply_ufunc(np.sqrt, d)",
    "xr.Dataset({'d': d}).mean()['d']",
]


def labelled(data):
    return xr.DataArray(data, dims=("t", "x"), coords={"t": [0, 0, 1, 1], "x": np.arange(6)})


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_xarray_keeps_tensors(expression):
    names = {"np": np, "xr": xr}
    expected = eval(expression, {**names, "d": labelled(VALUES)})
    result = eval(expression, {**names, "d": labelled(tfr.asarray(VALUES))})
    assert isinstance(result.data, tfr.Tensor)
    assert result.dims == expected.dims
    np.testing.assert_allclose(result.values, expected.values)


def test_arithmetic_stays_lazy():
    total = (labelled(tfr.asarray(VALUES)) * 2 + 1).mean("t")
    assert not total.data.is_computed


def test_the_text_of_a_dataset_computes_nothing():
    data = labelled(tfr.asarray(VALUES)) + 1
    text = repr(xr.Dataset({"d": data}))
    assert "<Tensor: not computed, device=cpu>" in text
    assert not data.data.is_computed


def test_variables_that_xarray_opened_are_read_through_it(tmp_path):
    stored = xr.Dataset({"d": labelled(VALUES)})
    stored.to_zarr(tmp_path / "x.zarr", consolidated=False)
    opened = xr.open_zarr(tmp_path / "x.zarr", chunks=None, consolidated=False)
    back = labelled(tfr.from_reader(opened["d"])) * 2
    assert not back.data.is_computed
    np.testing.assert_array_equal(back.isel(t=slice(1, 3)).values, VALUES[1:3] * 2)
    np.testing.assert_array_equal(back.mean("t").values, (VALUES * 2).mean(0))


def test_what_was_loaded_is_labelled_and_saved(tmp_path):
    tfr.save(tmp_path / "x.npy", tfr.asarray(VALUES))
    change = labelled(tfr.load(tmp_path / "x.npy")).diff("x")
    assert not change.data.is_computed
    tfr.save(tmp_path / "y.zarr", change.data)
    np.testing.assert_array_equal(tfr.load(tmp_path / "y.zarr").numpy(), np.diff(VALUES, axis=1))
