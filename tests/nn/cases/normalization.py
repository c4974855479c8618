"""Normalisations, linear layers and embeddings."""

import numpy as np

from tests.nn.cases import case, labels, real


def standard(x, axes, eps=1e-5):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def within(rows, most, order):
    norms = np.linalg.norm(rows, order, axis=-1, keepdims=True)
    return np.where(norms > most, rows * most / (norms + 1e-7), rows)


def channels(parameter, x):
    return parameter.reshape(-1, *[1] * (x.ndim - 2))


def by_channel(x, w, b):
    return x * channels(w, x) + channels(b, x)


def grouped(x, w, b):
    parts = x.reshape(x.shape[0], 3, -1)
    return by_channel(standard(parts, (2,)).reshape(x.shape), w, b)


def lrn(x):
    padded = np.pad(x * x, ((0, 0), (1, 1), (0, 0)))
    count = x.shape[1]
    window = sum(padded[:, first : first + count] for first in range(3))
    return x / (2.0 + 0.3 * window / 3) ** 0.6


def rms(x, axes, eps):
    return x / np.sqrt((x * x).mean(axes, keepdims=True) + eps)


TABLE = real(5, 4)
CASES = {
    "linear": case(
        lambda F, x, w, b: F.linear(x, w, b),
        lambda x, w, b: x @ w.T + b,
        *(real(2, 3, 4), real(5, 4), real(5)),
    ),
    "linear of a vector": case(
        lambda F, x, w: F.linear(x, w), lambda x, w: x @ w.T, real(4), real(5, 4)
    ),
    "linear to one number": case(
        lambda F, x, w: F.linear(x, w), lambda x, w: x @ w, real(3, 4), real(4)
    ),
    "linear of nothing": case(
        lambda F, x, w, b: F.linear(x, w, b),
        lambda x, w, b: x @ w.T + b,
        *(real(0, 4), real(5, 4), real(5)),
    ),
    "bilinear": case(
        lambda F, x, y, w, b: F.bilinear(x, y, w, b),
        lambda x, y, w, b: np.einsum("ni,oij,nj->no", x, w, y) + b,
        *(real(3, 4), real(3, 2), real(5, 4, 2), real(5)),
    ),
    "embedding of limited norms": case(
        lambda F, i, w: F.embedding(i, w, max_norm=2.5, norm_type=1.0),
        lambda i, w: within(w[i], 2.5, 1),
        *(np.asarray([[4, 0, 4], [1, 4, 0]]), TABLE),
        in_torch=False,  # which changes a tensor that a gradient is taken for
        slopes=False,
    ),
    "embedding that counts": case(
        lambda F, i, w: F.embedding(i, w, scale_grad_by_freq=True),
        lambda i, w: w[i],
        *(np.asarray([[4, 0, 4], [1, 4, 0]]), TABLE),
        slopes=False,
    ),
    "embedding": case(
        lambda F, i, w: F.embedding(i, w), lambda i, w: w[i], labels(5, 2, 3), real(5, 4)
    ),
    "embedding with padding": case(
        lambda F, i, w: F.embedding(i, w, padding_idx=-1),
        lambda i, w: w[i],
        np.asarray([3, 0, 3, 1]),
        real(4, 2),
        slopes=False,
    ),
    "one_hot": case(
        lambda F, i: F.one_hot(i, 5), lambda i: np.eye(5, dtype=int)[i], labels(5, 2, 3)
    ),
    "one_hot of as many as there are": case(
        lambda F, i: F.one_hot(i), lambda i: np.eye(4, dtype=int)[i], np.asarray([1, 3, 0])
    ),
    "layer_norm": case(
        lambda F, x, w, b: F.layer_norm(x, (4,), w, b),
        lambda x, w, b: standard(x, -1) * w + b,
        *(real(2, 3, 4), real(4), real(4)),
    ),
    "layer_norm of two axes": case(
        lambda F, x: F.layer_norm(x, (3, 4), eps=0.1),
        lambda x: standard(x, (1, 2), 0.1),
        real(2, 3, 4),
    ),
    "layer_norm of nothing": case(
        lambda F, x: F.layer_norm(x, (4,)), lambda x: standard(x, -1), real(0, 4)
    ),
    "rms_norm": case(
        lambda F, x, w: F.rms_norm(x, (4,), w, eps=0.01),
        lambda x, w: rms(x, -1, 0.01) * w,
        *(real(2, 3, 4), real(4)),
    ),
    "rms_norm by the machine epsilon": case(
        lambda F, x: F.rms_norm(x, (3, 4)), lambda x: rms(x, (1, 2), 0.0), real(2, 3, 4)
    ),
    "batch_norm": case(
        lambda F, x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        lambda x, w, b: by_channel(standard(x, (0, 2, 3)), w, b),
        *(real(2, 3, 2, 2), real(3), real(3)),
    ),
    "batch_norm of features": case(
        lambda F, x: F.batch_norm(x, None, None, training=True, eps=0.3),
        lambda x: standard(x, 0, 0.3),
        real(5, 3),
    ),
    "batch_norm by running statistics": case(
        lambda F, x, m, v, w, b: F.batch_norm(x, m, v, w, b),
        lambda x, m, v, w, b: by_channel(
            (x - channels(m, x)) / np.sqrt(channels(v, x) + 1e-5), w, b
        ),
        *(real(2, 3, 4), real(3), real(3, low=0.5), real(3), real(3)),
        in_torch=False,  # which has no gradient for these
    ),
    "instance_norm": case(
        lambda F, x, w, b: F.instance_norm(x, weight=w, bias=b),
        lambda x, w, b: by_channel(standard(x, (2, 3)), w, b),
        *(real(2, 3, 2, 3), real(3), real(3)),
    ),
    "group_norm": case(
        lambda F, x, w, b: F.group_norm(x, 3, w, b),
        grouped,
        *(real(2, 6, 2), real(6), real(6)),
    ),
    "normalize": case(
        lambda F, x: F.normalize(x),
        lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
        real(2, 3, 2),
    ),
    "normalize by the third norm": case(
        lambda F, x: F.normalize(x, p=3.0, dim=-1),
        lambda x: x / (np.abs(x) ** 3).sum(-1, keepdims=True) ** (1 / 3),
        real(2, 3),
    ),
    "normalize by the largest": case(
        lambda F, x: F.normalize(x, p=float("inf"), dim=0),
        lambda x: x / np.abs(x).max(0, keepdims=True),
        real(2, 3),
    ),
    "local_response_norm": case(
        lambda F, x: F.local_response_norm(x, 3, alpha=0.3, beta=0.6, k=2.0), lrn, real(2, 4, 2)
    ),
}
