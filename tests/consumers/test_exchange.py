"""Other libraries take tensors by NumPy's array interface, Arrow's C data interface, and their own protocols."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import linalg, signal, stats

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, ShapeError
from tensorframe.frontend.conversion import arrow_structs
from tensorframe.frontend.protocols import arrow_export

NUMBERS = sorted(arrow_structs.FORMATS)


def held():
    """How many structs wait for somebody to release them."""
    gc.collect()
    return len(arrow_export._held), len(arrow_structs._CAPSULES)


class Arrow:
    """An array of a library that speaks Arrow's interface, and nothing else."""

    def __init__(self, exporter):
        self.exporter = exporter

    def __arrow_c_array__(self, requested_schema=None):
        return self.exporter.__arrow_c_array__(requested_schema)


@pytest.mark.sweep(3)
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(5,), (0,), (19,), (3, 4), (2, 3, 5), (2, 0), (0, 3)])
def test_arrow_carries_every_dtype_and_shape(dtype, shape):
    values = (np.arange(np.prod(shape)) % 3).astype(dtype).reshape(shape)
    before = held()
    for tensor in (tfr.asarray(values), tfr.asarray(values.T).T + np.zeros((), dtype)):
        back = tfr.asarray(Arrow(tensor))
        assert back.dtype == dtype
        assert back.shape == shape
        np.testing.assert_array_equal(back.numpy(), values)
    assert held() == before


def test_arrow_shares_the_memory_and_holds_it():
    x = tfr.asarray(np.arange(6.0))
    before = held()
    schema, array = x.__arrow_c_array__()
    struct = arrow_structs.struct_in(array, arrow_structs.ArrowArray, b"arrow_array")
    assert struct.buffers[1] == x.numpy().ctypes.data
    assert (struct.length, struct.null_count, struct.n_buffers) == (6, 0, 2)
    x[0] = 9
    del x
    gc.collect()
    seen = (ctypes.c_double * 6).from_address(struct.buffers[1])
    assert list(seen) == [0, 1, 2, 3, 4, 5]
    del schema, array
    assert held() == before


def test_who_takes_a_struct_releases_it():
    """The consumer moves the struct, marks the old place as released, and releases its own."""
    before = held()
    schema, array = tfr.ones((2, 3)).__arrow_c_array__()
    struct = arrow_structs.struct_in(array, arrow_structs.ArrowArray, b"arrow_array")
    mine = arrow_structs.ArrowArray()
    ctypes.memmove(ctypes.byref(mine), ctypes.byref(struct), ctypes.sizeof(mine))
    struct.release = None
    del schema, array
    assert held() != before  # the elements are still mine
    assert mine.children[0].contents.length == 6
    arrow_structs.release(mine)
    assert not mine.release
    assert held() == before


def test_parts_of_arrow_arrays_begin_within_their_buffers():
    x = tfr.asarray(np.arange(40) % 3 == 0)
    _, array = capsules = x.__arrow_c_array__()
    struct = arrow_structs.struct_in(array, arrow_structs.ArrowArray, b"arrow_array")
    struct.offset, struct.length = 11, 20

    class Part:
        def __arrow_c_array__(self, requested_schema=None):
            return capsules

    assert tfr.asarray(Part()).tolist() == x.tolist()[11:31]


def test_missing_elements_and_text_are_refused():
    x = tfr.asarray([1.0, 2.0])
    _, array = capsules = x.__arrow_c_array__()
    struct = arrow_structs.struct_in(array, arrow_structs.ArrowArray, b"arrow_array")
    bits = (ctypes.c_uint8 * 1)(0b01)

    class Given:
        def __arrow_c_array__(self, requested_schema=None):
            return capsules

    struct.buffers[0], struct.null_count = ctypes.addressof(bits), 1
    with pytest.raises(DTypeError, match="no missing elements"):
        tfr.asarray(Given())
    bits[0] = 0b11
    assert tfr.asarray(Given()).tolist() == [1.0, 2.0]
    with pytest.raises(ArgumentError, match="copy=False"):
        tfr.asarray(Given(), copy=False)
    schema = arrow_structs.struct_in(capsules[0], arrow_structs.ArrowSchema, b"arrow_schema")
    schema.format = b"u"
    with pytest.raises(DTypeError, match="'u' holds no numbers"):
        tfr.asarray(Given())


def test_what_arrow_has_no_type_for_says_what_to_do():
    with pytest.raises(DTypeError, match="astype"):
        tfr.zeros(3, dtype="complex64").__arrow_c_array__()
    with pytest.raises(DTypeError, match="astype"):
        tfr.zeros(3, dtype="bfloat16").__arrow_c_schema__()
    with pytest.raises(ShapeError, match="reshape"):
        tfr.asarray(1.0).__arrow_c_array__()


@pytest.mark.parametrize("dtype", [*NUMBERS, "complex64", "bfloat16"])
def test_numpy_reads_elements_that_stay_when_the_tensor_changes(dtype):
    x = tfr.asarray(np.arange(6).reshape(2, 3)).astype(dtype)
    for tensor in (x, x.T, x[:, ::-1], x + x, x[:0], x[0, 0]):
        seen = np.asarray(tensor)
        wanted = seen.copy()
        assert seen.dtype == tensor.dtype
        assert seen.shape == tensor.shape
        assert not seen.flags.writeable
        tensor[...] = tensor + tensor + np.ones((), tensor.dtype)
        gc.collect()
        np.testing.assert_array_equal(seen, wanted)


def test_the_array_interface_is_numpys():
    x = tfr.asarray(np.arange(6.0, dtype="float32").reshape(2, 3))
    described = x.T.__array_interface__
    expected = np.ascontiguousarray(x.numpy().T).__array_interface__
    assert {key: described[key] for key in ("shape", "typestr", "version")} == {
        key: expected[key] for key in ("shape", "typestr", "version")
    }
    assert described["strides"] == (8, 4)
    assert memoryview(described["data"]).readonly
    assert not hasattr(tfr.zeros(2, dtype="bfloat16"), "__array_interface__")


def test_writing_through_numpy_is_refused():
    x = tfr.asarray([3.0, 1.0, 2.0])
    for write in (
        lambda: np.asarray(x).sort(),
        lambda: np.asarray(x).__setitem__(0, 5.0),
        lambda: np.asarray(x).fill(0.0),
        lambda: np.frombuffer(x.data, "float32").__setitem__(0, 5.0),
        lambda: np.add(np.ones(3, "float32"), 1, out=x.numpy()),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert x.tolist() == [3.0, 1.0, 2.0]


def test_images_are_made_of_tensors():
    picture = tfr.asarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    for tensor in (picture, picture[:, ::-1, 0], picture.transpose(1, 0, 2), picture + picture):
        np.testing.assert_array_equal(np.asarray(Image.fromarray(tensor)), tensor.numpy())
    np.testing.assert_array_equal(tfr.asarray(Image.fromarray(picture)).numpy(), picture.numpy())


FRAME = {"a": np.arange(6.0), "k": [1, 2, 1, 2, 3, 1]}


@pytest.mark.parametrize(
    "call",
    [
        "pd.Series(x)",
        "pd.Series(x).rolling(2).mean()",
        "pd.DataFrame({'a': x, 'k': k})",
        "pd.DataFrame(x.reshape(2, 3), columns=list('abc'))",
        "df.assign(b=x * 2)",
        "df.a + x",
        "df.a.where(x > 2, 0.0)",
        "df.a == x",
        "df.iloc[k]",
        "df.eval('a + @x')",
        "pd.cut(x, 3)",
        "pd.Index(k)",
        "pd.isna(x)",
        "pd.to_timedelta(x, unit='s')",
        "pd.get_dummies(k)",
        "np.add(df.a, x)",
        "df[x > 2]",
        "df.loc[x > 2, 'a']",
        "df.iloc[x > 2]",
        "df.a[x > 2]",
        "pd.unique(k)",
        "pd.Series(k).value_counts()",
        # these ask for the class of NumPy's arrays, and take the elements of others for objects
        "df.k.isin(np.asarray(k))",
        "df.groupby(np.asarray(k)).a.sum()",
        "df.set_index(np.asarray(k))",
        "pd.Series(pd.Categorical(np.asarray(k)))",
        "pd.factorize(np.asarray(k))[0]",
    ],
)
def test_pandas_takes_tensors(call):
    x, k = np.arange(6.0), np.array([1, 2, 1, 2, 3, 1])
    given = [{"x": x, "k": k}, {"x": tfr.asarray(x), "k": tfr.asarray(k)}]
    results = [
        eval(call, {"pd": pd, "np": np, "df": pd.DataFrame(FRAME)} | names) for names in given
    ]
    expected, actual = results
    assert type(expected) is type(actual)
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(expected, actual)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(expected, actual)
    else:
        assert np.all(np.asarray(expected == actual))


def test_columns_are_assigned():
    frame = pd.DataFrame(FRAME)
    x = tfr.asarray(np.arange(6.0))
    frame.loc[x > 3, "k"] = 7
    assert frame.k.tolist() == [1, 2, 1, 2, 7, 7]
    frame["b"] = x * 2
    frame.loc[:, "c"] = x + 1
    frame.iloc[:, 0] = x * 3
    x[0] = 99
    assert frame.b.tolist() == [0, 2, 4, 6, 8, 10]
    assert frame.c.tolist() == [1, 2, 3, 4, 5, 6]
    assert frame.a.tolist() == [0, 3, 6, 9, 12, 15]
    assert tfr.asarray(frame.b).tolist() == frame.b.tolist()


@pytest.mark.parametrize(
    "call",
    [
        "linalg.toeplitz(x)",
        "linalg.toeplitz(x, x * 2)",
        "linalg.circulant(x)",
        "linalg.issymmetric(s)",
        "linalg.issymmetric(s, rtol=1e-6)",
        "linalg.ishermitian(s)",
        "linalg.bandwidth(s)",
        "linalg.expm(s)",
        "signal.argrelmax(v)[0]",
        "signal.argrelmin(v)[0]",
        "signal.find_peaks(v)[0]",
        "signal.savgol_filter(v, 3, 1)",
        "stats.false_discovery_control(x / 10)",
        "stats.binned_statistic(x, x, bins=2).statistic",
    ],
)
def test_scipy_takes_tensors(call):
    arrays = {
        "x": np.arange(6.0),
        "v": np.array([1.0, 3, 2, 5, 1, 4, 0]),
        "s": np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 5]]),
    }
    spaces = {"linalg": linalg, "signal": signal, "stats": stats}
    expected = eval(call, spaces | arrays)
    actual = eval(call, spaces | {name: tfr.asarray(array) for name, array in arrays.items()})
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=1e-6)


def test_matplotlib_draws_tensors():
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"backend": "agg"}):
        x, m = tfr.arange(4.0), tfr.arange(12.0).reshape(3, 4)
        axes = Figure().add_subplot()
        (line,) = axes.plot(x, x * 2)
        assert line.get_ydata().tolist() == [0, 2, 4, 6]
        assert [bar.get_height() for bar in axes.bar(x, x + 1)] == [1, 2, 3, 4]
        counts, _, _ = axes.hist(x, bins=2)
        assert np.asarray(counts).tolist() == [2, 2]
        assert axes.imshow(m).get_array().shape == (3, 4)
        axes.fill_between(x, x - 1, x + 1, where=x > 1)
        axes.errorbar(x, x, yerr=x * 0.1)
        axes.scatter(x, x, c=x, s=x + 1)
        axes.contourf(m)
        axes.figure.canvas.draw()


def test_functions_of_numba_take_tensors():
    import numba

    @numba.njit
    def total(values):
        result = 0.0
        for index in np.ndindex(values.shape):
            result += values[index]
        return result

    @numba.njit
    def same(values):
        return values, values[1:], np.exp(values)

    @numba.njit
    def write(values):
        values[0] = 1.0

    x = tfr.asarray(np.arange(12.0).reshape(3, 4))
    for tensor in (x, x.T * 2, x[::2], x[:0]):
        assert total(tensor) == tensor.numpy().sum()
    whole, part, powers = same(x)
    assert not whole.flags.writeable
    np.testing.assert_array_equal(whole, x.numpy())
    np.testing.assert_array_equal(part, x.numpy()[1:])
    np.testing.assert_allclose(powers, np.exp(x.numpy()))
    assert total(tfr.asarray([True, False])) == 1.0
    with pytest.raises(numba.TypingError):
        write(x)
    with pytest.raises(DTypeError, match="astype"):
        total(x.astype("bfloat16"))
    with pytest.raises(tfr.errors.TracingError):
        tfr.jit(lambda y: y * total(y))(x)
