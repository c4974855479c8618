"""Image filters: a synthetic picture is blurred, sharpened, differentiated and segmented."""

import numpy as np


def picture(height, width):
    """A disc, a stripe and a gradient, with values from 0 to 1."""
    rows, columns = np.mgrid[0:height, 0:width]
    y = (rows - height / 2) / height
    x = (columns - width / 2) / width
    image = 0.3 + 0.2 * x + 0.1 * np.sin(8 * np.pi * y)
    image = np.where(x**2 + y**2 < 0.08, 0.9, image)
    image[height // 8 : height // 6, :] = 0.1
    return np.clip(image, 0.0, 1.0)


def gaussian(radius, sigma):
    """A kernel of weights that add up to one."""
    offsets = np.arange(-radius, radius + 1)
    weights = np.exp(-(offsets**2) / (2 * sigma**2))
    return weights / weights.sum()


def separable(image, kernel):
    """The picture convolved along both axes, its edge repeated."""
    radius = len(kernel) // 2
    padded = np.pad(image, radius, mode="edge")
    rows = np.zeros((padded.shape[0], image.shape[1]))
    for offset, weight in enumerate(kernel):
        rows += weight * padded[:, offset : offset + image.shape[1]]
    result = np.zeros(image.shape)
    for offset, weight in enumerate(kernel):
        result += weight * rows[offset : offset + image.shape[0], :]
    return result


def windows(image, size):
    """Every window of the picture, its border mirrored."""
    padded = np.pad(image, size // 2, mode="reflect")
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size))


def median_filter(image, size=3):
    """The median of each window."""
    views = windows(image, size)
    return np.median(views.reshape(*image.shape, -1), axis=-1)


def sobel(image):
    """The strength and direction of edges."""
    kernel = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])
    views = windows(image, 3)
    across = np.einsum("ijkl,kl->ij", views, kernel)
    down = np.einsum("ijkl,kl->ij", views, kernel.T)
    return np.hypot(across, down), np.arctan2(down, across)


def equalized(image, bins=64):
    """The picture with its brightness spread over the whole range."""
    counts, edges = np.histogram(image, bins=bins, range=(0.0, 1.0))
    shares = np.cumsum(counts) / image.size
    centers = 0.5 * (edges[1:] + edges[:-1])
    return np.interp(image.ravel(), centers, shares).reshape(image.shape)


def otsu(image, bins=64):
    """The threshold that parts the picture best into two classes."""
    counts, edges = np.histogram(image, bins=bins, range=(0.0, 1.0))
    centers = 0.5 * (edges[1:] + edges[:-1])
    weight_low = np.cumsum(counts)
    weight_high = counts.sum() - weight_low
    mass = np.cumsum(counts * centers)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean_low = mass / weight_low
        mean_high = (mass[-1] - mass) / weight_high
    between = weight_low * weight_high * (mean_low - mean_high) ** 2
    return centers[np.nanargmax(np.where(np.isfinite(between), between, -1.0))]


def downsampled(image, factor):
    """Means of blocks."""
    height, width = image.shape
    blocks = image[: height // factor * factor, : width // factor * factor]
    return blocks.reshape(height // factor, factor, width // factor, factor).mean(axis=(1, 3))


def main():
    image = picture(320, 480)
    speckled = image.copy()
    speckled[::7, ::11] = 1.0
    speckled[3::9, 5::13] = 0.0
    blurred = separable(image, gaussian(4, 1.5))
    sharpened = np.clip(image + 0.7 * (image - blurred), 0.0, 1.0)
    cleaned = median_filter(speckled)
    strength, direction = sobel(blurred)
    spread = equalized(blurred)
    threshold = otsu(blurred)
    mask = blurred > threshold
    return {
        "blurred": blurred[::9, ::7],
        "sharpened": sharpened.sum(axis=0),
        "cleaned": cleaned[::8, ::6],
        "error": np.abs(cleaned - image).max(),
        "strength": strength[::9, ::7],
        "mean direction": np.cos(direction[strength > 0.2]).mean(),
        "spread": spread[::25, ::25],
        "threshold": threshold,
        "pixels": np.count_nonzero(mask),
        "box": [int(np.min(axis)) for axis in np.nonzero(mask)],
        "small": downsampled(image, 16),
        "rotated": np.rot90(image)[:3, :3],
    }
