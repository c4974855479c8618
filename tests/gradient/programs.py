"""Random programs of smooth functions: what their derivative along a direction is, differences tell."""

import random

import numpy as np

import tensorframe as tfr

SHAPE = (3, 4)


def _set(x, y):
    x = x + 0
    x[1:, ::2] = y[:2, :2]
    x[0] *= 2
    return x


def _in_two(x):
    return tfr.concat([tfr.sin(x[:1]), x[1:] * 2]) + x[::-1]


# of tensors of shape (3, 4) and about the size of 1, giving such tensors
UNARY = {
    "sin": tfr.sin,
    "tanh": tfr.tanh,
    "exp": lambda x: tfr.exp(tfr.tanh(x)),
    "log": lambda x: tfr.log(x * x + 1),
    "sigmoid": tfr.sigmoid,
    "gelu": tfr.gelu,
    "silu": tfr.silu,
    "softplus": tfr.softplus,
    "sqrt": lambda x: tfr.sqrt(x * x + 0.5),
    "divide": lambda x: x / (1 + tfr.square(x)),
    "pow": lambda x: (1.5 + tfr.sin(x)) ** 2.5,
    "atan": tfr.atan,
    "erf": tfr.erf,
    "sinc": tfr.sinc,
    "flip": lambda x: x[:, ::-1],
    "transpose": lambda x: x.T.reshape(SHAPE),
    "roll": lambda x: tfr.roll(x, 1, axis=1),
    "softmax": lambda x: tfr.softmax(x, axis=1) * 3,
    "log_softmax": lambda x: tfr.log_softmax(x, axis=0),
    "center": lambda x: x - tfr.mean(x, axis=1, keepdims=True),
    "scale": lambda x: x / tfr.sqrt(tfr.var(x, axis=0, keepdims=True) + 0.5),
    "norm": lambda x: x / (1 + tfr.linalg.vector_norm(x, axis=1, keepdims=True)),
    "cumulative_sum": lambda x: tfr.cumulative_sum(x, axis=1) * 0.4,
    "cumulative_prod": lambda x: tfr.cumulative_prod(1 + 0.2 * tfr.sin(x), axis=0),
    "prod": lambda x: x * tfr.prod(1 + 0.2 * tfr.sin(x)),
    "logsumexp": lambda x: x - tfr.logsumexp(x, axis=1, keepdims=True),
    "gram": lambda x: (x @ x.T) @ x * 0.2,
    "einsum": lambda x: tfr.einsum("ij,kj,kl->il", x, x, x) * 0.1,
    "take": lambda x: x[tfr.asarray([0, 2, 2])] * tfr.take(x, tfr.asarray([3, 1, 0, 1]), axis=1),
    "in two": _in_two,
    "pad": lambda x: tfr.pad(x, ((1, 0), (0, 2)))[:3, 1:5],
    "diff": lambda x: tfr.pad(tfr.diff(x, axis=1), ((0, 0), (1, 0))),
    "table": lambda x: tfr.index_add(x, tfr.asarray([1, 1, 2]), x * 0.5),
    "stopped": lambda x: x * tfr.stop_gradient(tfr.ones(SHAPE, dtype=x.dtype)),
    "checkpoint": tfr.checkpoint(lambda x: tfr.sin(x) * x),
    "sorted": lambda x: (
        tfr.sort(x + tfr.arange(12.0, dtype=x.dtype).reshape(SHAPE) * 9, axis=1) * 0.1
    ),
}
BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "quotient": lambda x, y: x / (2 + tfr.cos(y)),
    "hypot": lambda x, y: tfr.hypot(x, y + 3),
    "atan2": lambda x, y: tfr.atan2(x, tfr.exp(y)),
    "logaddexp": tfr.logaddexp,
    "where": lambda x, y: tfr.where(tfr.arange(4) % 2 == 0, x, tfr.sin(y)),
    "product": lambda x, y: (x @ y.T) @ y * 0.2,
    "row": lambda x, y: x * y[0] + y[:, :1],
    "set": _set,
    "stack": lambda x, y: tfr.sum(tfr.stack([x, y, x * y]), axis=0) * 0.5,
}


def program(seed, length=7):
    """Return the names of the steps, and the function of two tensors that a seed stands for."""
    choose = random.Random(seed)
    steps = []
    for at in range(length):
        if choose.random() < 0.4:
            names = choose.choice(list(BINARY))
            steps.append((names, choose.randrange(at + 2), choose.randrange(at + 2)))
        else:
            steps.append((choose.choice(list(UNARY)), choose.randrange(at + 2)))
    steps.append(("add", length + 1, length))

    def function(x, y):
        values = [x, y]
        for name, *operands in steps:
            made = (BINARY if len(operands) == 2 else UNARY)[name](*[values[at] for at in operands])
            values.append(made)
        return values[-1]

    return steps, function


def operands(seed):
    """Return two arrays, and a direction for each."""
    generator = np.random.default_rng(seed)
    return [generator.uniform(-1.5, 1.5, SHAPE) for _ in range(4)]


def check(seed, device="cpu", *, length=7, second=True):
    """Compare derivatives along a direction, by gradient and by jvp, with differences; and second ones with those."""
    steps, function = program(seed, length)
    x, y, along_x, along_y = operands(seed)
    weights = np.random.default_rng(1).uniform(0.5, 1.5, SHAPE)

    def on(*arrays):
        return [tfr.asarray(one).to_device(device) for one in arrays]

    (weight,) = on(weights)

    def loss(x, y):
        return tfr.sum(function(x, y) * weight)

    def at(h):
        return on(x + h * along_x, y + h * along_y)

    step = 1e-5
    wanted = (loss(*at(step)).item() - loss(*at(-step)).item()) / (2 * step)
    gradient = tfr.grad(loss, (0, 1))
    found = sum(
        float(np.sum(one.numpy() * along))
        for one, along in zip(gradient(*at(0)), (along_x, along_y), strict=True)
    )
    pushed = tfr.jvp(loss, at(0), on(along_x, along_y))[1].item()
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7, err_msg=str(steps))
    np.testing.assert_allclose(found, pushed, rtol=1e-9, atol=1e-10, err_msg=str(steps))
    products = tfr.hvp(loss, at(0), on(along_x, along_y)) if second else ()
    for place, product in enumerate(products):
        ahead, behind = (gradient(*at(h))[place].numpy() for h in (step, -step))
        np.testing.assert_allclose(
            product.numpy(), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-6, err_msg=str(steps)
        )
