"""Raw kernels between elementwise ops, on every device: a Mandelbrot set, a bilateral filter, a segmented scan."""

import numpy as np
import pytest

import tensorframe as tfr
from examples.raw_kernels import bilateral as bilateral_example
from examples.raw_kernels import mandelbrot as mandelbrot_example
from examples.raw_kernels import segmented_scan as segments_example
from examples.raw_kernels.bilateral import bilateral
from examples.raw_kernels.mandelbrot import mandelbrot
from examples.raw_kernels.segmented_scan import segmented_scan
from tensorframe.testing.compare import assert_close
from tests.backends.devices import FOUND

pytest.importorskip("numba", reason="the cpu's sources are compiled by Numba")

DEVICES = ["cpu", "numpy", "llvm", *FOUND]
on_devices = pytest.mark.parametrize("device", [*DEVICES, "dask"])


@pytest.fixture(autouse=True)
def _devices(request):
    if "dask" in request.node.name:
        pytest.importorskip("dask")


def images():
    generator = np.random.default_rng(3)
    return generator.standard_normal((19, 33)).astype(np.float32)


def segments(dtype="int32", count=300):
    generator = np.random.default_rng(4)
    return generator.integers(-9, 10, count).astype(dtype), generator.random(count) < 0.06


def scanned(x, first):
    out = x.copy()
    for index in range(1, x.size):
        out[index] = x[index] if first[index] else out[index - 1] + x[index]
    return out


@on_devices
def test_mandelbrot_set(device):
    x = np.linspace(-2, 1, 37, dtype=np.float32)
    y = np.linspace(-1.2, 1.2, 23, dtype=np.float32)
    left = tfr.asarray(x, device=device) * 1.0
    steps, size = mandelbrot()(left, tfr.asarray(y, device=device), 12)
    found = tfr.compute(steps + 1, tfr.where(steps < 12, 4.0, size))
    z, count = np.zeros((23, 37), np.complex128), np.zeros((23, 37), np.int32)
    for _ in range(12):
        inside = abs(z) <= 2
        count += inside
        z = np.where(inside, z * z + x + 1j * y[:, None], z)
    assert found[0].tolist() == (count + 1).tolist()
    assert_close(found[1].numpy(), np.where(count < 12, 4.0, abs(z) ** 2).astype("f4"), rtol=1e-2)


@on_devices
def test_bilateral_filter(device):
    image = images()
    x = tfr.asarray(image, device=device)
    found = tfr.sqrt(abs(bilateral()(x * 0.5, 0.1, 2.0)))
    padded, weights = np.pad(image * 0.5, 2), np.pad(np.ones_like(image), 2)
    total, whole = np.zeros(image.shape), np.zeros(image.shape)
    for k in range(5):
        for m in range(5):
            other = padded[k : k + 19, m : m + 33].astype("f8")
            weight = np.exp(-((k - 2) ** 2 + (m - 2) ** 2) * 0.1 - (other - image * 0.5) ** 2 * 2)
            weight *= weights[k : k + 19, m : m + 33]
            total, whole = total + weight * other, whole + weight
    assert_close(found.numpy(), np.sqrt(abs(total / whole)).astype("f4"), rtol=1e-4, atol=1e-4)


@on_devices
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_segmented_scan(device, dtype):
    x, first = segments(dtype)
    found = segmented_scan()(tfr.asarray(x, device=device) * 2, tfr.asarray(first, device=device))
    assert (found + 1).tolist() == (scanned(x * 2, first) + 1).tolist()


@pytest.mark.parametrize("device", [name for name in DEVICES if name != "numpy"])
def test_a_kernel_is_one_step_between_fused_ones(device):
    with tfr.config.override(small_size=0, small_nodes=0):
        x = tfr.asarray(images(), device=device)
        plan = tfr.explain(tfr.exp(bilateral()(x * 0.5 + 1, 0.1, 2.0)) + 1)
    steps = [step for step in plan.steps if "copy" not in step.name]
    assert [step.name for step in steps] == ["multiply add", "bilateral", "exp add"]
    assert [str(step.device) for step in steps] == [device] * 3


def test_one_without_a_language_runs_the_reference():
    x = tfr.asarray(images(), device="numpy")
    plan = tfr.explain(bilateral()(x, 0.1, 2.0))
    assert plan.library_calls == 0
    assert plan.kernels > 1


@pytest.mark.parametrize("device", [name for name in DEVICES if name != "numpy"])
def test_equal_to_the_reference(device):
    image = tfr.asarray(images()[:4, :5], device=device)
    report = tfr.verify(bilateral()(image, 0.1, 2.0), backends=[device])
    assert report.agrees, report


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_those_of_the_reference(device):
    values, first = segments("float32", 40)
    weights = np.arange(40, dtype=np.float32)
    x = tfr.asarray(values, device=device)

    def loss(x):
        sums = segmented_scan()(x, tfr.asarray(first, device=device))
        return tfr.sum(sums * tfr.asarray(weights, device=device))

    expected = weights.copy()  # an element is part of all sums from it to the end of its segment
    for index in range(38, -1, -1):
        expected[index] += 0 if first[index + 1] else expected[index + 1]
    assert tfr.grad(loss)(x).tolist() == expected.tolist()


def test_gradients_by_numbers():
    image = tfr.asarray(images()[:5, :6], device="numpy")
    kernel = bilateral()

    def loss(image, near, alike, function=kernel):
        return tfr.sum(function(image, near, alike) ** 2)

    found = tfr.grad(loss, argnums=(0, 1, 2))(image, 0.1, 2.0)
    known = kernel.reference.function
    expected = tfr.grad(lambda *args: loss(*args, function=known), argnums=(0, 1, 2))(
        image, 0.1, 2.0
    )
    for one, other in zip(found, expected, strict=True):
        assert_close(one.numpy(), other.numpy(), rtol=1e-5)


def test_gradients_of_one_of_several_outputs():
    x = tfr.asarray(np.linspace(-0.4, 0.3, 5, dtype="f4"))
    kernel = mandelbrot()
    reference = kernel.reference.function
    found = tfr.grad(lambda x: tfr.sum(kernel(x, x, 6)[1]))(x)
    expected = tfr.grad(lambda x: tfr.sum(reference(x, x, 6)[1]))(x)
    assert_close(found.numpy(), expected.numpy(), rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_many_examples(device):
    x = tfr.asarray(images()[:3, :8], device=device)
    kernel = mandelbrot()
    found = tfr.vmap(lambda row: kernel(row, row, 5)[1])(x)
    expected = np.stack([kernel(row, row, 5)[1].numpy() for row in x])
    assert_close(found.numpy(), expected, rtol=1e-5)


def test_many_examples_without_a_reference_are_launched_one_by_one():
    x = tfr.asarray(images()[:3, :8])
    kernel = mandelbrot(reference=None)
    found = tfr.vmap(lambda row: kernel(row, row, 5)[1])(x)
    assert found.tolist() == [kernel(row, row, 5)[1].tolist() for row in x]


def test_the_examples_run(capsys):
    for example in (mandelbrot_example, bilateral_example, segments_example):
        example.main()
    picture, smoothed = capsys.readouterr().out.split("noisy")
    assert picture.count("#") > 300
    assert "smooth: noise of 0.0" in smoothed
    assert smoothed.endswith("[1, 3, 6, 10, 5, 11, 18, 26]\n")
