"""Resampling and rearranging."""

import numpy as np

from tests.nn.cases import case, real


def along(x, axis, matrix):
    """Each line along an axis times a matrix of weights, (new, old)."""
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix.T, -1, axis)


def weights(old, new, kernel, *, corners=False, clamp=False, step=None):
    """Weights of old elements at new positions, those beyond the ends given to the end."""
    step = old / new if step is None else step
    matrix = np.zeros((new, old))
    for i in range(new):
        middle = i * (old - 1) / max(new - 1, 1) if corners else (i + 0.5) * step - 0.5
        middle = max(middle, 0.0) if clamp else middle
        for j in range(int(np.floor(middle)) - 2, int(np.floor(middle)) + 4):
            matrix[i, min(max(j, 0), old - 1)] += kernel(abs(middle - j))
    return matrix


def smooth_weights(old, new, kernel, reach):
    scale = max(old / new, 1.0)
    matrix = np.zeros((new, old))
    for i in range(new):
        middle = (i + 0.5) * old / new - 0.5
        for j in range(old):
            if abs(j - middle) < reach * scale:
                matrix[i, j] = kernel(abs(j - middle) / scale)
    return matrix / matrix.sum(1, keepdims=True)


def tent(d):
    return max(1 - d, 0.0)


def cubic(a):
    def kernel(d):
        if d <= 1:
            return ((a + 2) * d - (a + 3)) * d * d + 1
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a if d < 2 else 0.0

    return kernel


def resized(x, sizes, *args, **options):
    for axis, new in enumerate(sizes, start=2):
        x = along(x, axis, weights(x.shape[axis], new, *args, **options))
    return x


def nearest(x, sizes, shift=0.0):
    for axis, new in enumerate(sizes, start=2):
        old = x.shape[axis]
        x = x.take(np.floor((np.arange(new) + shift) * old / new).astype(int), axis)
    return x


def areas(x, axis, new):
    old = x.shape[axis]
    ends = [(i * old // new, -(-(i + 1) * old // new)) for i in range(new)]
    return np.stack([x.take(range(*end), axis).mean(axis) for end in ends], axis)


CASES = {
    "interpolate to nearest": case(
        lambda F, x: F.interpolate(x, size=(7, 3)), lambda x: nearest(x, (7, 3)), real(2, 2, 4, 5)
    ),
    "interpolate by whole factors": case(
        lambda F, x: F.interpolate(x, scale_factor=(2, 3)),
        lambda x: x.repeat(2, 2).repeat(3, 3),
        real(2, 2, 3, 4),
    ),
    "interpolate to half": case(
        lambda F, x: F.interpolate(x, scale_factor=0.5),
        lambda x: x[..., ::2, ::2],
        real(1, 2, 4, 6),
    ),
    "interpolate to nearest exactly": case(
        lambda F, x: F.interpolate(x, size=3, mode="nearest-exact"),
        lambda x: nearest(x, (3,), 0.5),
        real(2, 2, 7),
    ),
    "interpolate volumes": case(
        lambda F, x: F.interpolate(x, size=(2, 4, 3)),
        lambda x: nearest(x, (2, 4, 3)),
        real(1, 1, 3, 2, 4),
    ),
    "interpolate linearly": case(
        lambda F, x: F.interpolate(x, size=7, mode="linear"),
        lambda x: resized(x, (7,), tent, clamp=True),
        real(2, 2, 4),
    ),
    "interpolate by a factor": case(
        lambda F, x: F.interpolate(x, scale_factor=1.7, mode="linear"),
        lambda x: resized(x, (8,), tent, clamp=True, step=1 / 1.7),
        real(2, 2, 5),
    ),
    "interpolate by a factor of the sizes": case(
        lambda F, x: F.interpolate(x, scale_factor=1.7, mode="linear", recompute_scale_factor=True),
        lambda x: resized(x, (8,), tent, clamp=True),
        real(2, 2, 5),
    ),
    "interpolate bilinearly": case(
        lambda F, x: F.interpolate(x, size=(3, 9), mode="bilinear"),
        lambda x: resized(x, (3, 9), tent, clamp=True),
        real(2, 2, 5, 4),
    ),
    "interpolate with aligned corners": case(
        lambda F, x: F.interpolate(x, size=(7, 1), mode="bilinear", align_corners=True),
        lambda x: resized(x, (7, 1), tent, corners=True),
        real(2, 2, 5, 4),
    ),
    "interpolate trilinearly": case(
        lambda F, x: F.interpolate(x, scale_factor=2, mode="trilinear"),
        lambda x: resized(x, (4, 6, 4), tent, clamp=True),
        real(1, 2, 2, 3, 2),
    ),
    "interpolate bicubically": case(
        lambda F, x: F.interpolate(x, size=(7, 3), mode="bicubic"),
        lambda x: resized(x, (7, 3), cubic(-0.75)),
        real(2, 2, 5, 4),
    ),
    "interpolate bicubically with aligned corners": case(
        lambda F, x: F.interpolate(x, size=(7, 6), mode="bicubic", align_corners=True),
        lambda x: resized(x, (7, 6), cubic(-0.75), corners=True),
        real(1, 2, 5, 4),
    ),
    "interpolate by areas": case(
        lambda F, x: F.interpolate(x, size=(3, 4), mode="area"),
        lambda x: areas(areas(x, 2, 3), 3, 4),
        real(2, 2, 7, 6),
    ),
    "interpolate with antialias": case(
        lambda F, x: F.interpolate(x, size=(3, 7), mode="bilinear", antialias=True),
        lambda x: along(
            along(x, 2, smooth_weights(8, 3, tent, 1)), 3, smooth_weights(5, 7, tent, 1)
        ),
        real(1, 2, 8, 5),
    ),
    "interpolate bicubically with antialias": case(
        lambda F, x: F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True),
        lambda x: along(
            along(x, 2, smooth_weights(8, 3, cubic(-0.5), 2)),
            3,
            smooth_weights(9, 4, cubic(-0.5), 2),
        ),
        real(1, 2, 8, 9),
    ),
    "pixel_shuffle": case(
        lambda F, x: F.pixel_shuffle(x, 2),
        lambda x: x.reshape(2, 3, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(2, 3, 6, 4),
        real(2, 12, 3, 2),
    ),
    "pixel_unshuffle": case(
        lambda F, x: F.pixel_unshuffle(x, 2),
        lambda x: x.reshape(2, 3, 3, 2, 2, 2).transpose(0, 1, 3, 5, 2, 4).reshape(2, 12, 3, 2),
        real(2, 3, 6, 4),
    ),
    "channel_shuffle": case(
        lambda F, x: F.channel_shuffle(x, 3),
        lambda x: x[:, [0, 2, 4, 1, 3, 5]],
        real(2, 6, 3),
        in_torch=False,  # which has it elsewhere
    ),
    "pad": case(
        lambda F, x: F.pad(x, (1, 2, 0, 3), value=0.5),
        lambda x: np.pad(x, ((0, 0), (0, 3), (1, 2)), constant_values=0.5),
        real(2, 3, 4),
    ),
    "pad that cuts off": case(
        lambda F, x: F.pad(x, (-1, 2, 1, -2)),
        lambda x: np.pad(x[:, :1, 1:], ((0, 0), (1, 0), (0, 2))),
        real(2, 3, 4),
    ),
    "pad by reflection": case(
        lambda F, x: F.pad(x, (2, 1), mode="reflect"),
        lambda x: np.pad(x, ((0, 0), (0, 0), (2, 1)), "reflect"),
        real(2, 3, 4),
    ),
    "pad by replication": case(
        lambda F, x: F.pad(x, (2, 1, 3, 0), mode="replicate"),
        lambda x: np.pad(x, ((0, 0), (0, 0), (3, 0), (2, 1)), "edge"),
        real(2, 2, 3, 4),
    ),
    "pad in circles": case(
        lambda F, x: F.pad(x, (2, 4), mode="circular"),
        lambda x: np.pad(x, ((0, 0), (0, 0), (2, 4)), "wrap"),
        real(2, 3, 4),
    ),
}
