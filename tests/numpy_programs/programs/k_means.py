"""K-means: points are clustered by Lloyd's algorithm, from centres that are far from each other."""

import numpy as np


def pseudo_random(count, seed=1):
    """Numbers from 0 to 1 of a linear congruential generator, so that every library sees the same ones."""
    values = np.zeros(count)
    state = seed
    for index in range(count):
        state = (1103515245 * state + 12345) % 2**31
        values[index] = state / 2**31
    return values


def blobs(per_cluster):
    """Points around four centres."""
    centers = np.array([[0.0, 0.0], [6.0, 1.0], [1.0, 7.0], [7.0, 8.0]])
    noise = pseudo_random(2 * per_cluster * len(centers)).reshape(-1, 2)
    radius = np.sqrt(-2 * np.log(noise[:, :1] + 1e-9))
    angle = 2 * np.pi * noise[:, 1:]
    scattered = 0.6 * np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return np.repeat(centers, per_cluster, axis=0) + scattered


def colours(count):
    """The colours of a picture: a sky, a sea and a beach, which shade into each other."""
    place = np.arange(count) % 997 * np.array([[0.754878], [0.569840]]) % 1.0
    sky = np.stack([0.3 + 0.3 * place[0], 0.5 + 0.3 * place[0], np.full(count, 0.9)], axis=1)
    sea = np.stack([0.05 * place[1], 0.3 + 0.2 * place[1], 0.5 + 0.2 * place[0]], axis=1)
    sand = np.stack([0.8 + 0.1 * place[0], 0.7 + 0.1 * place[1], np.full(count, 0.5)], axis=1)
    which = np.arange(count) % 7
    return np.where((which < 4)[:, None], sky, np.where((which < 6)[:, None], sea, sand))


def quantized(picture, count, steps=10):
    """The picture with so many colours, how many pixels have each, and the error of a pixel."""
    centers = farthest_first(picture, count)
    for _ in range(steps):
        nearest = np.argmin(distances(picture, centers), axis=1)
        sizes = np.bincount(nearest, minlength=count)
        sums = np.stack(
            [np.bincount(nearest, weights=picture[:, part], minlength=count) for part in range(3)],
            axis=1,
        )
        centers = sums / np.maximum(sizes, 1)[:, None]
    nearest = np.argmin(distances(picture, centers), axis=1)
    painted = centers[nearest]
    return painted, np.bincount(nearest, minlength=count), np.abs(painted - picture).mean()


def distances(points, centers):
    """Squared distances of each point to each centre."""
    difference = points[:, np.newaxis, :] - centers[np.newaxis, :, :]
    return (difference**2).sum(axis=-1)


def farthest_first(points, count):
    """The first point, then again and again the one that is farthest from those chosen."""
    chosen = [0]
    nearest = distances(points, points[:1])[:, 0]
    while len(chosen) < count:
        index = int(np.argmax(nearest))
        chosen.append(index)
        nearest = np.minimum(nearest, distances(points, points[index : index + 1])[:, 0])
    return points[chosen]


def lloyd(points, centers, steps=20):
    """Centres as means of the points nearest to them, until nothing moves."""
    history = []
    labels = np.zeros(len(points), dtype=int)
    for _ in range(steps):
        squared = distances(points, centers)
        labels = np.argmin(squared, axis=1)
        history.append(float(squared[np.arange(len(points)), labels].sum()))
        moved = np.array(
            [
                points[labels == cluster].mean(axis=0)
                if np.any(labels == cluster)
                else centers[cluster]
                for cluster in range(len(centers))
            ]
        )
        if np.allclose(moved, centers, atol=1e-6):
            break
        centers = moved
    return centers, labels, history


def silhouette(points, labels, count):
    """How much closer points are to their own cluster than to the next one."""
    apart = np.sqrt(distances(points, points))
    sizes = np.bincount(labels, minlength=count)
    totals = np.stack([apart[:, labels == cluster].sum(axis=1) for cluster in range(count)], axis=1)
    own = totals[np.arange(len(points)), labels] / np.maximum(sizes[labels] - 1, 1)
    others = totals / sizes
    others[np.arange(len(points)), labels] = np.inf
    nearest = others.min(axis=1)
    return ((nearest - own) / np.maximum(nearest, own)).mean()


def main():
    points = blobs(40)
    start = farthest_first(points, 4)
    centers, labels, history = lloyd(points, start)
    order = np.lexsort((centers[:, 1], centers[:, 0]))
    rank = np.argsort(order)
    named = rank[labels]
    picture = colours(60_000)
    painted, pixels, error = quantized(picture, 3)
    return {
        "centers": centers[order],
        "sizes": np.bincount(named),
        "labels": named,
        "inertia": history[-1],
        "falls": bool(np.all(np.diff(history) <= 1e-3)),
        "silhouette": silhouette(points, labels, 4),
        "spread": np.array([points[named == cluster].std(axis=0) for cluster in range(4)]),
        "palette": np.unique(np.round(painted, 3), axis=0),
        "pixels": np.sort(pixels),
        "error": error,
        "unique": np.unique(named, return_counts=True)[1],
    }
