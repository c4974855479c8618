"""Regressions: straight lines, polynomials, ridge, logistic by Newton's method, and cross-validation."""

import numpy as np


def data(count):
    """Points of a curve with errors that every library makes alike, and classes."""
    x = np.linspace(-2.0, 2.0, count)
    noise = 0.2 * (np.arange(count) * 7919 % 1009 / 1009 - 0.5)
    y = 0.5 * x**3 - x + 0.3 + noise
    features = np.column_stack([x, np.sin(2 * x), np.cos(5 * x)])
    labels = (features @ np.array([1.5, -2.0, 0.5]) + 3 * noise > 0).astype(float)
    return x, y, features, labels


def line(x, y):
    """Slope, intercept and coefficient of determination of a straight line."""
    slope, intercept = np.polyfit(x, y, 1)
    rest = y - np.polyval([slope, intercept], x)
    return slope, intercept, 1 - np.sum(rest**2) / np.sum((y - y.mean()) ** 2)


def ridge(features, y, penalty):
    """Weights of least squares with a penalty on their size."""
    matrix = features.T @ features + penalty * np.eye(features.shape[1])
    return np.linalg.solve(matrix, features.T @ y)


def sigmoid(z):
    """Probabilities, without overflow."""
    return np.where(
        z >= 0, 1 / (1 + np.exp(-np.abs(z))), np.exp(-np.abs(z)) / (1 + np.exp(-np.abs(z)))
    )


def logistic(features, labels, penalty=0.1, steps=8):
    """Weights and losses of logistic regression, by Newton's method."""
    weights = np.zeros(features.shape[1])
    losses = []
    for _ in range(steps):
        shares = sigmoid(features @ weights)
        losses.append(
            -np.mean(labels * np.log(shares + 1e-7) + (1 - labels) * np.log(1 - shares + 1e-7))
        )
        gradient = features.T @ (shares - labels) + penalty * weights
        curvature = (features * (shares * (1 - shares))[:, None]).T @ features
        weights = weights - np.linalg.solve(curvature + penalty * np.eye(len(weights)), gradient)
    return weights, np.array(losses)


def folds(count, parts):
    """Indices for each round of cross-validation: those left out, and the others."""
    indices = np.arange(count)
    for part in range(parts):
        left_out = indices % parts == part
        yield indices[left_out], indices[~left_out]


def validated(x, y, degree, parts=4):
    """The mean squared error of polynomials at points that they were not fitted to."""
    errors = []
    for test, train in folds(len(x), parts):
        coefficients = np.polyfit(x[train], y[train], degree)
        errors.append(np.mean((np.polyval(coefficients, x[test]) - y[test]) ** 2))
    return np.mean(errors)


def bootstrapped(features, y, rounds):
    """Standard errors of weights of least squares: of samples of the rows, all of them solved at once."""
    count = len(y)
    rows = (np.arange(rounds)[:, None] * 7919 + np.arange(count)[None, :] ** 2 % 104729) % count
    chosen, targets = features[rows], y[rows]
    squares = np.einsum("bni,bnj->bij", chosen, chosen)
    products = np.einsum("bni,bn->bi", chosen, targets)
    return np.linalg.solve(squares, products[:, :, None])[:, :, 0].std(axis=0)


def smoothed(x, y, width):
    """A smooth curve through points: means of all of them, near ones weighing more."""
    weights = np.exp(-0.5 * ((x[::8, None] - x[None, :]) / width) ** 2)
    return weights @ y / weights.sum(axis=1)


def confusion(truth, guess):
    """How often each class was taken for each."""
    table = np.zeros((2, 2), dtype=int)
    np.add.at(table, (truth.astype(int), guess.astype(int)), 1)
    return table


def main():
    x, y, features, labels = data(4000)
    slope, intercept, determination = line(x, y)
    cubic = np.polyfit(x, y, 3)
    errors = np.array([validated(x, y, degree) for degree in range(1, 6)])
    weights, losses = logistic(features, labels)
    guess = sigmoid(features @ weights) > 0.5
    solution, residual, rank, _ = np.linalg.lstsq(np.vander(x, 4), y, rcond=None)
    quartiles = np.quantile(y, [0.25, 0.5, 0.75])
    stationary = np.roots(np.polyder(cubic))
    return {
        "line": np.array([slope, intercept, determination]),
        "cubic": cubic,
        "same": np.allclose(solution, cubic, atol=1e-2),
        "rank": int(rank),
        "residual": residual,
        "errors": errors,
        "best": int(np.argmin(errors[:3])) + 1,
        "ridge": np.array([ridge(features, y, penalty) for penalty in (0.1, 1.0, 10.0)]),
        "weights": weights,
        "falls": bool(np.all(np.diff(losses[:5]) < 0)),
        "confusion": confusion(labels, guess),
        "quartiles": quartiles,
        "stationary": np.sort(stationary.real),
        "area": np.polyval(np.polyint(cubic), 2.0) - np.polyval(np.polyint(cubic), -2.0),
        "bootstrap": bootstrapped(features, y, 60),
        "smooth": smoothed(x, y, 0.1)[::50],
        "trend": np.gradient(y, x)[::500],
    }
