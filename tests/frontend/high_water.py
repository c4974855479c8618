"""Measures in a process of its own what computations take at most, in pages of memory, whichever library has them.

Run as a program: the device, and names of cases, none for all. Prints a line of JSON for each: its name, the projected
peak, what is there already of that, and by how much the process grew.
"""

import ctypes
import gc
import json
import sys

import numpy as np

import tensorframe as tfr

ROWS, COLUMNS = 1536, 1024


def operands():
    """Return the operands of the cases by their names."""
    r = np.random.default_rng(0)
    shape = (ROWS, COLUMNS)
    arrays = {
        "x": r.random(shape, dtype=np.float32) + 0.5,
        "d": r.random(shape),
        "i": r.integers(0, 250, shape),  # whose products need float64
        "h": r.random(shape).astype(np.float16),
        "c": (r.random(shape) + 1j).astype(np.complex64),
        "v": r.random(1 << 20, dtype=np.float32),
        "w": r.random(3 << 20, dtype=np.float32),
        "m": r.random((500, 500)) + 500 * np.eye(500),
        "stack": r.random((250, 60, 48), dtype=np.float32),
        "q": r.random((1, 4, 1024, 64), dtype=np.float32),
        "image": r.random((8, 16, 96, 96), dtype=np.float32),
        "kernel": r.random((32, 16, 3, 3), dtype=np.float32),
    }
    return {name: tfr.asarray(array) for name, array in arrays.items()}


CASES = {
    "elementwise": lambda x, **_: tfr.exp(x) * 2 + 1,
    "elementwise in float64": lambda d, **_: tfr.sin(d) * tfr.cos(d) + tfr.sqrt(d),
    "half precision": lambda h, **_: h * h + 1,
    "a large intermediate": lambda x, **_: tfr.sort(tfr.exp(x), axis=1) * 2,
    "sum of products": lambda x, **_: tfr.sum(x * x),
    "sum of rows": lambda x, **_: tfr.sum(x * 2, axis=1),
    "sum of columns": lambda x, **_: tfr.sum(x * 2, axis=0),
    "variance": lambda x, **_: tfr.var(x, axis=1),
    "standardise": lambda x, **_: (x - tfr.mean(x, axis=0)) / tfr.std(x, axis=0),
    "softmax": lambda x, **_: tfr.softmax(x, axis=1),
    "argmax": lambda x, **_: tfr.argmax(x, axis=1),
    "argmax of columns": lambda x, **_: tfr.argmax(x, axis=0),
    "argmax of a broadcast view": lambda d, **_: tfr.argmax(
        tfr.broadcast_to(d, (2, *d.shape)), axis=0
    ),
    "scan": lambda x, **_: tfr.cumulative_sum(x, axis=1),
    "a vector beside its sum": lambda w, **_: w + tfr.sum(w) * 1e-6,
    "a vector beside its scan": lambda w, **_: tfr.flip(w) * 2 + tfr.cumulative_sum(w),
    "sines of what is sorted": lambda w, **_: tfr.sin(tfr.sort(w)),
    "sort": lambda x, **_: tfr.sort(x, axis=1),
    "sort columns": lambda x, **_: tfr.sort(x, axis=0),
    "sort descending": lambda x, **_: tfr.sort(x, axis=1, descending=True),
    "argsort": lambda x, **_: tfr.argsort(x, axis=1),
    "argsort in float64": lambda d, **_: tfr.argsort(d, axis=1),
    "argsort integers descending": lambda i, **_: tfr.argsort(i, axis=1, descending=True),
    "argsort a vector": lambda v, **_: tfr.argsort(v),
    "argsort bytes": lambda i, **_: tfr.argsort(tfr.reshape(i, -1).astype("uint8")),
    "unstable argsort": lambda x, **_: tfr.argsort(x, axis=1, stable=False),
    "median": lambda x, **_: tfr.median(x, axis=1),
    "quantile": lambda x, **_: tfr.quantile(x, tfr.asarray([0.1, 0.5]), axis=0),
    "partition": lambda x, **_: tfr.partition(x, 100, axis=1),
    "histogram": lambda x, **_: tfr.histogram(x, 50)[0],
    "bincount": lambda i, **_: tfr.bincount(tfr.reshape(i, -1)),
    "searchsorted": lambda x, v, **_: tfr.searchsorted(v, x),
    "product": lambda x, **_: x @ x.T,
    "product by tiles": lambda x, **_: x @ x[:256].T,
    "transposed product by tiles": lambda x, **_: (x.T @ x[:, :200]).T + 1,
    "product in half precision": lambda h, **_: h @ h.T,
    "product of slices in half precision": lambda h, **_: h[1:] @ h[:-1].T,
    "product of integers": lambda i, **_: i @ i.T,
    "product with an epilogue": lambda x, **_: tfr.sin(x @ x.T + 1),
    "two products": lambda x, **_: (x @ x.T) @ x,
    "einsum": lambda x, **_: tfr.einsum("ij,kj->ik", x, x),
    "broadcast product": lambda x, **_: tfr.einsum("ij,kj->ikj", x[:100, :64], x[:300, :64]),
    "attention": lambda q, **_: tfr.softmax(q @ q.mT, axis=-1) @ q,
    "fft": lambda c, **_: tfr.fft.fft(c),
    "fft along two axes": lambda c, **_: tfr.fft.fftn(c),
    "fft of real numbers": lambda x, **_: tfr.fft.fft(x),
    "rfft": lambda x, **_: tfr.fft.rfft(x),
    "rfft of a vector": lambda v, **_: tfr.fft.rfft(v),
    "irfft": lambda c, **_: tfr.fft.irfft(c),
    "inverse fft": lambda c, **_: tfr.fft.ifft(c),
    "hfft": lambda c, **_: tfr.fft.hfft(c),
    "fft of a prime length": lambda v, **_: tfr.fft.fft(v[:500_009]),
    "fftshift": lambda x, **_: tfr.fft.fftshift(x),
    "inverse": lambda m, **_: tfr.linalg.inv(m),
    "solve": lambda m, **_: tfr.linalg.solve(m, m),
    "qr": lambda m, **_: tfr.linalg.qr(m),
    "svd": lambda m, **_: tfr.linalg.svd(m),
    "eigh": lambda m, **_: tfr.linalg.eigh(m),
    "det": lambda m, **_: tfr.linalg.det(m),
    # NumPy computes in double precision, and gives all results at once
    "singular values of a stack": lambda stack, **_: tfr.linalg.svdvals(stack),
    "singular values beside vectors": lambda stack, **_: tfr.linalg.svd(stack)[1],
    "qr of a stack": lambda stack, **_: tfr.linalg.qr(stack),
    "inverses of a stack": lambda stack, **_: tfr.linalg.inv(stack[:, :48]),
    "solutions of a stack": lambda stack, **_: tfr.linalg.solve(stack[:, :48], stack[:, :48]),
    "eigenvalues of a stack": lambda stack, **_: tfr.linalg.eigvals(stack[:60, :48]),
    "eigenvalues beside vectors": lambda stack, **_: tfr.linalg.eigh(stack[:, :48])[0],
    "cholesky of a stack": lambda stack, **_: tfr.linalg.cholesky(stack.mT @ stack),
    "least squares": lambda m, **_: tfr.linalg.lstsq(m[:, :200], m[:, 200:400]),
    "gather": lambda x, i, **_: x[i[:, 0]],
    "take along an axis": lambda x, i, **_: tfr.take_along_axis(x, i, axis=1),
    "index_add": lambda x, i, **_: tfr.index_add(x, i[:, 0], x),
    "concat": lambda x, **_: tfr.concat([x, x * 2]),
    "pad": lambda x, **_: tfr.pad(x, 5),
    "a view that is a copy": lambda x, **_: tfr.reshape(x.T, (-1,)) * 1,
    "tile": lambda x, **_: tfr.tile(x, (2, 1)),
    "repeat": lambda x, **_: tfr.repeat(x, 2, axis=0),
    "gradient": lambda x, **_: tfr.gradient(x)[0],
    "stencil": lambda x, **_: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1],
    "arange": lambda **_: tfr.arange(1 << 20) * 2,
    "random numbers": lambda **_: tfr.random.uniform((ROWS, COLUMNS), key=tfr.random.key(1)),
    "permutation": lambda **_: tfr.random.permutation(1 << 19, key=tfr.random.key(2)),
    "convolution": lambda image, kernel, **_: tfr.nn.functional.conv2d(image, kernel, padding=1),
    "convolution of half precision": lambda image, kernel, **_: tfr.nn.functional.conv2d(
        image.astype("float16"), kernel.astype("float16"), padding=1
    ),
    "convolution's gradient by the kernel": lambda image, kernel, **_: tfr.grad(
        lambda w: tfr.sum(tfr.nn.functional.conv2d(image, w, padding=1) ** 2)
    )(kernel),
    "pooling": lambda image, **_: tfr.nn.functional.max_pool2d(image, 2),
    "cast": lambda x, **_: x.astype("float64"),
}


def _status(name):
    with open("/proc/self/status", encoding="ascii") as file:
        (line,) = [line for line in file if line.startswith(name)]
    return int(line.split()[1]) << 10


def _settle():
    """Give back what nobody uses, so that what is in memory is what is in use."""
    gc.collect()
    tfr.memory.trim()
    ctypes.CDLL(None).malloc_trim(0)


def measured(make, given):
    """Return the projected peak of a computation, what of it is there already, and by how much the process grew."""
    results = make(**given)
    results = results if isinstance(results, tuple) else (results,)
    found = tfr.estimate(*results)
    _settle()
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark begins again
    before = _status("VmRSS")
    tfr.compute(*results)
    return sum(found.peak.values()), sum(found.inputs.values()), _status("VmHWM") - before


def main(device, *names):
    """Print what each case takes."""
    tfr.set_backend(device)
    tfr.config.configure(threads=2)
    given = operands()
    tfr.compute(given["d"] @ given["d"].T)  # BLAS has memory for its threads from then on
    for name in names or CASES:
        # libraries are loaded before, and kernels compiled: of small operands they may be others
        warm = CASES[name](**given)
        tfr.compute(*(warm if isinstance(warm, tuple) else (warm,)))
        del warm
        figures = json.dumps([name, *measured(CASES[name], given)])
        sys.stdout.write(f"{figures}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
