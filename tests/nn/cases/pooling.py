"""Pooling, and windows as columns."""

from itertools import product

import numpy as np

from tests.nn.cases import case, real


def each(value, rank):
    return value if isinstance(value, tuple) else (value,) * rank


def pooled(x, rank, combine, size, step=None, pad=0, apart=1, beyond=False):
    """`combine(elements, positions)` of each window: those of its elements that are on the tensor, in C order."""
    size, step = each(size, rank), each(step or size, rank)
    pad, apart = each(pad, rank), each(apart, rank)
    counts = []
    for length, k, s, p, d in zip(x.shape[-rank:], size, step, pad, apart, strict=True):
        room = length + 2 * p - (k - 1) * d - 1
        count = -(-room // s) + 1 if beyond else room // s + 1
        counts.append(count - 1 if beyond and (count - 1) * s >= length + p else count)
    found = np.zeros((*x.shape[:-rank], *counts))
    for place in product(*map(range, counts)):
        axes = [
            [w * s - p + i * d for i in range(k)]
            for w, k, s, p, d in zip(place, size, step, pad, apart, strict=True)
        ]
        inside = [
            [q for q in positions if 0 <= q < length]
            for positions, length in zip(axes, x.shape[-rank:], strict=True)
        ]
        with_padding = np.prod(
            [
                sum(q < length + p for q in positions)
                for positions, length, p in zip(axes, x.shape[-rank:], pad, strict=True)
            ]
        )
        for front in np.ndindex(x.shape[:-rank]):
            elements = x[front][np.ix_(*inside)].ravel()
            flat = np.ravel_multi_index(np.ix_(*inside), x.shape[-rank:]).ravel()
            found[(*front, *place)] = combine(elements, flat, with_padding)
    return found


def largest(elements, *_):
    return elements.max()


def where_largest(elements, positions, _):
    return positions[elements.argmax()]


def mean(elements, _, count):
    return elements.sum() / count


def mean_inside(elements, *_):
    return elements.mean()


def parts(x, rank, combine, counts):
    lengths = x.shape[-rank:]
    found = np.zeros((*x.shape[:-rank], *counts))
    for place in product(*map(range, counts)):
        inside = [
            np.arange(i * length // n, -(-(i + 1) * length // n))
            for i, length, n in zip(place, lengths, counts, strict=True)
        ]
        for front in np.ndindex(x.shape[:-rank]):
            elements = x[front][np.ix_(*inside)].ravel()
            flat = np.ravel_multi_index(np.ix_(*inside), lengths).ravel()
            found[(*front, *place)] = combine(elements, flat, 1)
    return found


def columns(x, size, step, pad, apart):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    counts = [(n - (k - 1) * apart - 1) // step + 1 for n, k in zip(x.shape[2:], size, strict=True)]
    found = [
        x[:, :, i * apart :, j * apart :][:, :, ::step, ::step][:, :, : counts[0], : counts[1]]
        for i in range(size[0])
        for j in range(size[1])
    ]
    return np.stack(found, 2).reshape(x.shape[0], -1, counts[0] * counts[1])


def image(x, shape, size, step, pad, apart):
    """Columns added up: the transpose of `columns`, by its matrix."""
    unit = np.eye(int(np.prod(shape))).reshape(-1, 1, *shape)
    matrix = columns(unit, size, step, pad, apart).reshape(int(np.prod(shape)), -1)
    n, k, _ = x.shape
    channels = k // (size[0] * size[1])
    return (x.reshape(n, channels, -1) @ matrix.T).reshape(n, channels, *shape)


def values_and_positions(x, rank, *window, **options):
    return [
        pooled(x, rank, largest, *window, **options),
        pooled(x, rank, where_largest, *window, **options).astype(np.int64),
    ]


def unpooled(x, indices, lengths):
    found = np.zeros((*x.shape[: -len(lengths)], int(np.prod(lengths))))
    for place in np.ndindex(x.shape):
        found[(*place[: -len(lengths)], indices[place])] = x[place]
    return found.reshape(*x.shape[: -len(lengths)], *lengths)


TIES = np.asarray([[[[1.0, 1.0, 0.0, 2.0], [1.0, 1.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]]]])

CASES = {
    "max_pool1d": case(
        lambda F, x: F.max_pool1d(x, 3, stride=2, padding=1),
        lambda x: pooled(x, 1, largest, 3, 2, 1),
        real(2, 3, 8),
    ),
    "max_pool2d": case(
        lambda F, x: F.max_pool2d(x, 2), lambda x: pooled(x, 2, largest, 2), real(2, 3, 6, 5)
    ),
    "max_pool2d with positions": case(
        lambda F, x: F.max_pool2d(x, (3, 2), stride=(2, 1), padding=1, return_indices=True),
        lambda x: values_and_positions(x, 2, (3, 2), (2, 1), 1),
        real(2, 2, 7, 5),
    ),
    "max_pool2d with dilation": case(
        lambda F, x: F.max_pool2d(x, 3, stride=2, dilation=2, ceil_mode=True, return_indices=True),
        lambda x: values_and_positions(x, 2, 3, 2, apart=2, beyond=True),
        real(3, 8, 9),
    ),
    "max_pool2d of ties": case(
        lambda F, x: F.max_pool2d(x, 2, stride=1, return_indices=True),
        lambda x: values_and_positions(x, 2, 2, 1),
        TIES,
        slopes=False,
    ),
    "max_pool2d of large windows": case(
        lambda F, x: F.max_pool2d(x, 9, stride=2, return_indices=True),
        lambda x: values_and_positions(x, 2, 9, 2),
        real(1, 2, 12, 11),
    ),
    "max_unpool1d": case(
        lambda F, x, i: F.max_unpool1d(x, i, 3, stride=2, padding=1),
        lambda x, i: unpooled(x, i, (5,)),
        *(real(2, 3), np.asarray([[0, 2, 4], [1, 3, 4]])),
    ),
    "max_unpool2d of a size": case(
        lambda F, x, i: F.max_unpool2d(x, i, 2, output_size=(1, 2, 5, 4)),
        lambda x, i: unpooled(x, i, (5, 4)),
        *(real(1, 2, 2, 2), np.asarray([[[[0, 3], [9, 19]], [[5, 6], [8, 15]]]])),
    ),
    "max_unpool3d": case(
        lambda F, x, i: F.max_unpool3d(x, i, 2, stride=(1, 2, 2)),
        lambda x, i: unpooled(x, i, (3, 2, 4)),
        *(real(1, 2, 1, 2), np.asarray([[[[0, 23]], [[9, 14]]]])),
    ),
    "max_pool3d": case(
        lambda F, x: F.max_pool3d(x, 2, stride=(1, 2, 2)),
        lambda x: pooled(x, 3, largest, 2, (1, 2, 2)),
        real(2, 3, 4, 5),
    ),
    "avg_pool1d": case(
        lambda F, x: F.avg_pool1d(x, 3, stride=2, padding=1, ceil_mode=True),
        lambda x: pooled(x, 1, mean, 3, 2, 1, beyond=True),
        real(2, 3, 8),
    ),
    "avg_pool2d": case(
        lambda F, x: F.avg_pool2d(x, 2), lambda x: pooled(x, 2, mean, 2), real(2, 3, 6, 5)
    ),
    "avg_pool2d of what is inside": case(
        lambda F, x: F.avg_pool2d(
            x, (3, 2), stride=2, padding=1, ceil_mode=True, count_include_pad=False
        ),
        lambda x: pooled(x, 2, mean_inside, (3, 2), 2, 1, beyond=True),
        real(2, 2, 6, 5),
    ),
    "avg_pool2d with a divisor": case(
        lambda F, x: F.avg_pool2d(x, 3, stride=1, divisor_override=4),
        lambda x: pooled(x, 2, lambda e, *_: e.sum() / 4, 3, 1),
        real(3, 5, 5),
    ),
    "avg_pool3d": case(
        lambda F, x: F.avg_pool3d(x, 2, padding=1),
        lambda x: pooled(x, 3, mean, 2, pad=1),
        real(1, 2, 3, 4, 5),
    ),
    "lp_pool1d": case(
        lambda F, x: F.lp_pool1d(x, 3, 2),
        lambda x: pooled(x, 1, lambda e, *_: (e**3).sum() ** (1 / 3), 2),
        real(2, 3, 8, low=0.1),
    ),
    "lp_pool2d": case(
        lambda F, x: F.lp_pool2d(x, 2, 3, stride=2),
        lambda x: pooled(x, 2, lambda e, *_: (e**2).sum() ** 0.5, 3, 2),
        real(2, 3, 7, 7),
    ),
    "adaptive_avg_pool1d": case(
        lambda F, x: F.adaptive_avg_pool1d(x, 4),
        lambda x: parts(x, 1, mean_inside, (4,)),
        real(2, 3, 8),
    ),
    "adaptive_avg_pool2d": case(
        lambda F, x: F.adaptive_avg_pool2d(x, (3, None)),
        lambda x: parts(x, 2, mean_inside, (3, 5)),
        real(2, 2, 7, 5),
    ),
    "adaptive_avg_pool2d to one": case(
        lambda F, x: F.adaptive_avg_pool2d(x, 1),
        lambda x: x.mean((-2, -1), keepdims=True),
        real(2, 3, 6, 5),
    ),
    "adaptive_avg_pool2d to more": case(
        lambda F, x: F.adaptive_avg_pool2d(x, 7),
        lambda x: parts(x, 2, mean_inside, (7, 7)),
        real(2, 3, 4),
    ),
    "adaptive_avg_pool3d": case(
        lambda F, x: F.adaptive_avg_pool3d(x, (2, 3, 2)),
        lambda x: parts(x, 3, mean_inside, (2, 3, 2)),
        real(2, 4, 5, 3),
    ),
    "adaptive_max_pool1d": case(
        lambda F, x: F.adaptive_max_pool1d(x, 3),
        lambda x: parts(x, 1, largest, (3,)),
        real(2, 3, 8),
    ),
    "adaptive_max_pool2d": case(
        lambda F, x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True),
        lambda x: [
            parts(x, 2, largest, (3, 4)),
            parts(x, 2, where_largest, (3, 4)).astype(np.int64),
        ],
        real(2, 2, 7, 6),
    ),
    "adaptive_max_pool2d to one": case(
        lambda F, x: F.adaptive_max_pool2d(x, 1, return_indices=True),
        lambda x: [
            parts(x, 2, largest, (1, 1)),
            parts(x, 2, where_largest, (1, 1)).astype(np.int64),
        ],
        real(2, 3, 6, 5),
    ),
    "adaptive_max_pool3d": case(
        lambda F, x: F.adaptive_max_pool3d(x, 2),
        lambda x: parts(x, 3, largest, (2, 2, 2)),
        real(2, 4, 5, 3),
    ),
    "unfold": case(
        lambda F, x: F.unfold(x, (3, 2), padding=1, stride=2),
        lambda x: columns(x, (3, 2), 2, 1, 1),
        real(2, 3, 5, 6),
    ),
    "unfold with dilation": case(
        lambda F, x: F.unfold(x, 2, dilation=2),
        lambda x: columns(x, (2, 2), 1, 0, 2),
        real(2, 3, 5, 6),
    ),
    "fold": case(
        lambda F, x: F.fold(x, (5, 6), (3, 2), padding=1, stride=2),
        lambda x: image(x, (5, 6), (3, 2), 2, 1, 1),
        real(2, 18, 12),
    ),
    "fold with dilation and stride": case(
        lambda F, x: F.fold(x, (7, 6), 2, dilation=3, stride=2),
        lambda x: image(x, (7, 6), (2, 2), 2, 0, 3),
        real(1, 8, 4),
    ),
}
