"""Small kernels for tests: expressions over the elements of arrays."""

import struct
from hashlib import sha256

import numpy as np

from tensorframe.backends.numba.functions import kernel_function

LETTERS = "abcdefghjklmnop"  # i is the index


def spelled(dtype):
    """The name of a dtype in load_T and store_T."""
    return {"bool": "bool_"}.get(np.dtype(dtype).name, np.dtype(dtype).name)


def text(expressions, inputs, salt=""):
    """A kernel that stores each (dtype, expression) of the elements a, b, c ... of inputs of these dtypes."""
    lines = [f"    x{k} = array_at(varying, {k})" for k in range(len(inputs))]
    lines += [f"    y{k} = array_at(varying, {k + len(inputs)})" for k in range(len(expressions))]
    lines += ["    for i in range(start, stop):"]
    lines += [
        f"        {letter} = load_{spelled(dtype)}(x{k}, i)"
        for k, (letter, dtype) in enumerate(zip(LETTERS, inputs, strict=False))
    ]
    lines += [
        f"        store_{spelled(dtype)}(y{k}, i, {expression})"
        for k, (dtype, expression) in enumerate(expressions)
    ]
    return named("\n".join(lines), salt)


def named(body, salt=""):
    """The name and the source of the kernel with this body."""
    name = "k_" + sha256((body + salt).encode()).hexdigest()[:16]
    return name, f"def {name}(start, stop, varying, fixed):\n{body}\n"


def slots(*values):
    """Arrays and integers packed as a kernel takes them."""
    return b"".join(
        struct.pack("=d", one)
        if isinstance(one, float)
        else struct.pack("=q", id(one) if isinstance(one, np.ndarray) else one)
        for one in values
    )


def evaluate(expressions, *inputs, salt=""):
    """What the expressions give for each element of the inputs."""
    size = len(inputs[0])
    outputs = [np.zeros(size, dtype) for dtype, _ in expressions]
    function = kernel_function(*text(expressions, [one.dtype for one in inputs], salt))
    function.call(0, size, slots(*inputs, *outputs), b"")
    return outputs
