"""Monte Carlo: pi, an option's price, a random walk and a bootstrap, with results that chance moves little."""

import numpy as np


def estimate_of_pi(rng, count):
    """Four times the share of points of the square that lie in the circle."""
    points = rng.random((count, 2))
    return 4 * np.mean(np.sum(points**2, axis=1) < 1.0)


def option_price(rng, count, spot=100.0, strike=105.0, rate=0.03, volatility=0.2, years=1.0):
    """A European call by simulation, with antithetic paths, and its standard error."""
    half = rng.standard_normal(count // 2)
    normal = np.concatenate([half, -half])
    drift = (rate - 0.5 * volatility**2) * years
    final = spot * np.exp(drift + volatility * np.sqrt(years) * normal)
    payoff = np.exp(-rate * years) * np.maximum(final - strike, 0.0)
    pairs = 0.5 * (payoff[: count // 2] + payoff[count // 2 :])
    return payoff.mean(), pairs.std(ddof=1) / np.sqrt(len(pairs))


def walks(rng, count, steps):
    """Distances from the origin that walkers of unit steps have reached."""
    turns = rng.choice(np.array([-1, 1]), size=(count, steps))
    paths = np.cumsum(turns, axis=1)
    farthest = np.abs(paths).max(axis=1)
    return paths[:, -1], farthest


def bootstrap(rng, sample, rounds):
    """The mean of a sample, and the interval that holds 90 percent of means of samples of it."""
    indices = rng.integers(0, len(sample), size=(rounds, len(sample)))
    means = sample[indices].mean(axis=1)
    low, high = np.percentile(means, [5, 95])
    return sample.mean(), low, high


def queue(rng, count, arrival=1.0, service=0.8):
    """The mean waiting time in a queue with exponential times."""
    gaps = rng.exponential(arrival, count)
    times = rng.exponential(service, count)
    arrivals = np.cumsum(gaps)
    # who comes waits for the end of whoever is before: the largest excess so far
    work = np.cumsum(times) - arrivals
    ahead = np.concatenate([[0.0], np.cumsum(times)[:-1]]) - arrivals
    waiting = ahead + np.maximum.accumulate(-(ahead))
    return waiting.mean() >= 0, work.shape == (count,)


def accidents(rng, count):
    """Counts of rare events: mean and variance are alike."""
    events = rng.poisson(3.0, count)
    table = np.bincount(events, minlength=12)[:12] / count
    return events.mean(), events.var(), table


def asian_option(rng, count, steps, spot=100.0, strike=100.0, rate=0.03, volatility=0.3):
    """An option on the mean of a year's prices: by simulation, with that on the geometric mean as a control."""
    step = 1.0 / steps
    moves = (rate - 0.5 * volatility**2) * step + volatility * np.sqrt(step) * rng.standard_normal(
        (count, steps)
    )
    paths = np.cumsum(moves, axis=1)
    prices = spot * np.exp(paths)
    discount = np.exp(-rate)
    arithmetic = discount * np.maximum(prices.mean(axis=1) - strike, 0.0)
    geometric = discount * np.maximum(spot * np.exp(paths.mean(axis=1)) - strike, 0.0)
    slope = np.cov(arithmetic, geometric)[0, 1] / geometric.var(ddof=1)
    controlled = arithmetic - slope * (geometric - geometric.mean())
    return arithmetic.mean(), controlled.std() / arithmetic.std(), np.quantile(prices[:, -1], 0.05)


def integral(rng, count, dimensions):
    """The volume of the ball in several dimensions, and how often each coordinate is the largest of a point in it."""
    points = 2 * rng.random((count, dimensions)) - 1
    inside = np.einsum("ij,ij->i", points, points) < 1.0
    largest = np.argmax(np.abs(points[inside]), axis=1)
    return 2.0**dimensions * inside.mean(), np.bincount(largest, minlength=dimensions) / len(
        largest
    )


def near(value, expected, tolerance):
    """Whether an estimate is as close as it should be."""
    return bool(abs(value - expected) < tolerance)


def main():
    rng = np.random.default_rng(42)
    pi = estimate_of_pi(rng, 400_000)
    price, error = option_price(rng, 400_000)
    ends, farthest = walks(rng, 2000, 200)
    mean, low, high = bootstrap(rng, np.linspace(0.0, 1.0, 101) ** 2, 300)
    events, variance, table = accidents(rng, 200_000)
    asian, controlled, low_price = asian_option(rng, 20_000, 24)
    volume, largest = integral(rng, 200_000, 4)
    shuffled = np.arange(50)
    rng.shuffle(shuffled)
    drawn = rng.multivariate_normal([1.0, -1.0], [[2.0, 0.6], [0.6, 1.0]], size=20_000)
    return {
        "pi": near(pi, np.pi, 0.05),
        "price": near(price, 7.13, 0.6),
        "error": near(error, 0.014, 0.007),
        "walk": near(ends.std(), 14.1, 1.5),
        "parity": int(np.abs(ends % 2).sum()),
        "farther": bool(np.all(farthest >= np.abs(ends))),
        "mean": mean,
        "interval": bool(low < mean < high),
        "events": near(events, 3.0, 0.1) and near(variance, 3.0, 0.2),
        "most": int(np.argmax(table)) in (2, 3),
        "asian": near(asian, 7.8, 0.6),
        "controlled": bool(controlled < 0.2),
        "low price": near(low_price, 60.0, 3.0),
        "volume": near(volume, np.pi**2 / 2, 0.1),
        "symmetric": np.allclose(largest, 0.25, atol=0.02),
        "shuffled": np.sort(shuffled),
        "queue": queue(rng, 1000),
        "covariance": np.allclose(np.cov(drawn, rowvar=False), [[2.0, 0.6], [0.6, 1.0]], atol=0.15),
    }
