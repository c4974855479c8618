"""Principal components: by singular values and by the covariance matrix, whitening, and reconstruction."""

import numpy as np


def measurements(count):
    """Five correlated columns of smooth functions and a little noise that every library makes alike."""
    t = np.linspace(0.0, 6.0, count)
    noise = np.sin(np.outer(np.arange(1, count + 1) % 61, [0.7, 1.3, 2.1, 3.7, 5.3])) * 0.05
    signal = np.column_stack(
        [np.sin(t), np.cos(2 * t), np.sin(t) + 0.5 * np.cos(2 * t), t / 6, 1 - t / 6]
    )
    return signal @ np.diag([3.0, 1.0, 2.0, 1.5, 0.5]) + noise


def standardized(data):
    """Columns with mean 0 and standard deviation 1."""
    mean = data.mean(axis=0)
    deviation = data.std(axis=0, ddof=1)
    return (data - mean) / deviation, mean, deviation


def signed(components):
    """Components whose largest entry is positive, so that they can be compared."""
    largest = np.argmax(np.abs(components), axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * signs[:, None]


def by_singular_values(data):
    """Components as rows, and the variance along each."""
    _, singular, components = np.linalg.svd(data, full_matrices=False)
    return signed(components), singular**2 / (len(data) - 1)


def by_covariance(data):
    """The same, of the covariance matrix."""
    values, vectors = np.linalg.eigh(np.cov(data, rowvar=False))
    order = np.argsort(values)[::-1]
    return signed(vectors[:, order].T), values[order]


def reconstructed(data, components, count):
    """The data as far as the first components tell."""
    kept = components[:count]
    return (data @ kept.T) @ kept


def whitened(data, components, variances):
    """Scores with unit variance and no correlation."""
    return (data @ components.T) / np.sqrt(variances)


def outliers(scores, limit):
    """Rows that are far from the origin of the scores."""
    distance = np.sqrt(np.sum(scores**2, axis=1))
    return np.flatnonzero(distance > limit), distance.max()


def randomized(data, count, rounds=3):
    """The largest singular values of a large matrix: of its product with a few smooth vectors, made orthogonal."""
    start = np.cos(np.outer(np.arange(data.shape[1]), np.arange(1, count + 5)) * 0.37)
    basis, _ = np.linalg.qr(data @ start)
    for _ in range(rounds):
        basis, _ = np.linalg.qr(data @ (data.T @ basis))
    return np.linalg.svd(basis.T @ data, compute_uv=False)[:count]


def faces(count, side):
    """Pictures of one family: a few shapes in other proportions, as rows of pixels."""
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    shapes = np.stack([np.exp(-3 * (x**2 + y**2)), x * y, np.cos(3 * x), np.sin(4 * y) * x])
    shares = np.sin(np.outer(np.arange(count), [0.3, 0.7, 1.1, 1.9]) + 0.5)
    return np.tensordot(shares, shapes, axes=1).reshape(count, -1)


def main():
    data = measurements(20_000)
    scaled, mean, deviation = standardized(data)
    components, variances = by_singular_values(scaled)
    others, values = by_covariance(scaled)
    shares = variances / variances.sum()
    strong = int(np.searchsorted(np.cumsum(shares), 0.99)) + 1
    errors = [np.linalg.norm(scaled - reconstructed(scaled, components, k)) for k in range(1, 6)]
    scores = whitened(scaled, components[:2], variances[:2])
    found, farthest = outliers(scores, 2.0)
    pictures = faces(400, 40)
    centred = pictures - pictures.mean(axis=0)
    largest = randomized(centred, 4)
    similar = centred @ centred.T
    closest = np.argsort(-similar[0], kind="stable")[:1]
    return {
        "largest": largest,
        "all of it": np.allclose(np.sum(largest**2), np.sum(centred**2), rtol=1e-3),
        "closest": closest,
        "mean": mean,
        "deviation": deviation,
        "shares": shares,
        "strong": strong,
        "first": components[:2],
        "agree": np.allclose(variances[:4], values[:4], rtol=1e-3),
        "same": np.allclose(components[:2], others[:2], atol=1e-2),
        "errors": np.array(errors)[:3],
        "covariance": np.cov(scores, rowvar=False),
        "correlation": np.corrcoef(data, rowvar=False),
        "outliers": len(found),
        "farthest": farthest,
        "rank": int(np.linalg.matrix_rank(scaled, tol=1.0)),
        "trace": np.trace(scaled.T @ scaled),
        "condition": float(np.linalg.cond(scaled[:, :3])) > 1,
    }
