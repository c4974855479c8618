"""Small kernels for tests: expressions over the elements of arrays, and statements, compiled."""

import struct
from hashlib import sha256

import numpy as np

from tensorframe.backends.llvm.functions import kernel_function
from tensorframe.backends.llvm.target import target
from tensorframe.codegen.llvm import print_kernel
from tensorframe.kernel.ir import (
    START,
    STOP,
    Buffer,
    Kernel,
    Loop,
    Role,
    Store,
    index,
    load,
)

I = index("i")  # of the outermost loop


def operand(k, dtype):
    return Buffer(f"x{k}", np.dtype(dtype), Role.INPUT)


def result(k, dtype):
    return Buffer(f"y{k}", np.dtype(dtype), Role.OUTPUT)


def over(*body, long=False):
    """The outermost loop around statements."""
    return Loop(I, START, STOP, tuple(body), parallel=True, long=long)


def kernel(body, inputs=(), outputs=(), scalars=(), sizes=()):
    return Kernel(tuple(inputs), tuple(outputs), tuple(scalars), tuple(sizes), tuple(body))


def elementwise(expressions, inputs, *, long=False):
    """The kernel that stores each (dtype, function of the elements) of inputs of these dtypes."""
    operands = [operand(k, dtype) for k, dtype in enumerate(inputs)]
    outputs = [result(k, dtype) for k, (dtype, _) in enumerate(expressions)]
    elements = [load(operand, I) for operand in operands]
    stores = [
        Store(output, I, function(*elements))
        for output, (_, function) in zip(outputs, expressions, strict=True)
    ]
    return kernel([over(*stores, long=long)], operands, outputs)


def named(one, salt="", machine=None):
    """The name and the text of a kernel; with a salt, of one that no other test makes."""
    text = print_kernel(one, machine or target())
    if not salt:
        return text.name, text.source
    name = f"{text.name}_{sha256(salt.encode()).hexdigest()[:8]}"
    return name, text.source.replace(text.name, name)


def text(expressions, inputs, salt="", machine=None):
    """The name and the text of the kernel of expressions."""
    return named(elementwise(expressions, inputs), salt, machine)


def slots(*values):
    """Arrays and integers packed as a kernel takes them."""
    return b"".join(
        struct.pack("=d", value)
        if isinstance(value, float)
        else struct.pack("=q", id(value) if isinstance(value, np.ndarray) else value)
        for value in values
    )


def evaluate(expressions, *inputs, salt="", machine=None):
    """What the expressions give for each element of the inputs."""
    size = len(inputs[0])
    outputs = [np.zeros(size, dtype) for dtype, _ in expressions]
    function = kernel_function(
        *text(expressions, [source.dtype for source in inputs], salt, machine)
    )
    function.call(0, size, slots(*inputs, *outputs), b"")
    return outputs
