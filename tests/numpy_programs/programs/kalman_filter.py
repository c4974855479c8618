"""A Kalman filter: a moving object is tracked through noise, then smoothed backwards."""

import numpy as np


def model(step, acceleration, noise):
    """Transition, its noise, what is seen of the state, and the noise of that."""
    half = step**2 / 2
    transition = np.block([[np.eye(2), step * np.eye(2)], [np.zeros((2, 2)), np.eye(2)]])
    push = np.vstack([half * np.eye(2), step * np.eye(2)])
    process = acceleration**2 * push @ push.T
    seen = np.hstack([np.eye(2), np.zeros((2, 2))])
    return transition, process, seen, noise**2 * np.eye(2)


def track(count, step):
    """Where the object is: on a curve that bends slowly."""
    time = np.arange(count) * step
    return np.stack([time * np.cos(0.05 * time), 2 * np.sin(0.2 * time)], axis=1)


def measured(truth, noise):
    """The track with errors that every library makes alike."""
    count = np.arange(1, truth.size + 1).reshape(truth.shape)
    return truth + noise * np.sqrt(2) * np.sin(12.9898 * count**1.5)


def filtered(observations, transition, process, seen, error):
    """States and covariances after each observation, and the predictions before."""
    size = transition.shape[0]
    state, covariance = np.zeros(size), 10.0 * np.eye(size)
    states, covariances, predictions, predicted = [], [], [], []
    for observation in observations:
        state = transition @ state
        covariance = transition @ covariance @ transition.T + process
        predictions.append(state)
        predicted.append(covariance)
        innovation = observation - seen @ state
        spread = seen @ covariance @ seen.T + error
        gain = np.linalg.solve(spread.T, seen @ covariance.T).T
        state = state + gain @ innovation
        covariance = (np.eye(size) - gain @ seen) @ covariance
        states.append(state)
        covariances.append(covariance)
    return np.array(states), np.array(covariances), np.array(predictions), np.array(predicted)


def smoothed(states, covariances, predictions, predicted, transition):
    """States given all observations, from the last to the first (Rauch, Tung and Striebel)."""
    result = states.copy()
    for index in range(len(states) - 2, -1, -1):
        gain = covariances[index] @ transition.T @ np.linalg.inv(predicted[index + 1])
        result[index] += gain @ (result[index + 1] - predictions[index + 1])
    return result


def fleet(objects, count, step):
    """Where many objects are: each goes its own straight way, and all are seen with the same errors."""
    heading = 2 * np.pi * (np.arange(objects) % 360) / 360
    speed = 1.0 + np.arange(objects) % 5
    time = np.arange(count) * step
    way = time[:, None] * speed[None, :]
    return np.stack([way * np.cos(heading), way * np.sin(heading)], axis=-1)


def gains(count, transition, process, seen, error):
    """The gain of each step, which does not depend on what is observed."""
    size = transition.shape[0]
    covariance, result = 10.0 * np.eye(size), []
    for _ in range(count):
        covariance = transition @ covariance @ transition.T + process
        spread = seen @ covariance @ seen.T + error
        gain = covariance @ seen.T @ np.linalg.inv(spread)
        covariance = (np.eye(size) - gain @ seen) @ covariance
        result.append(gain)
    return result


def filtered_together(observations, transition, process, seen, error):
    """The last states of many objects that are filtered at once, one in each row."""
    states = np.zeros((observations.shape[1], transition.shape[0]))
    distance = np.zeros(observations.shape[1])
    weights = gains(len(observations), transition, process, seen, error)
    for observed, gain in zip(observations, weights, strict=True):
        states = states @ transition.T
        innovation = observed - states @ seen.T
        distance = distance + np.sum(innovation**2, axis=1)
        states = states + innovation @ gain.T
    return states, np.sqrt(distance / len(observations))


def likelihood(observations, predictions, predicted, seen, error):
    """The logarithm of how likely the observations are."""
    rest = observations - predictions @ seen.T
    spread = seen @ predicted @ seen.T + error
    distance = np.einsum("ti,tij,tj->t", rest, np.linalg.inv(spread), rest)
    return -0.5 * np.sum(distance + np.linalg.slogdet(2 * np.pi * spread)[1])


def root_mean_square(values):
    """The size of errors."""
    return np.sqrt(np.mean(np.square(values)))


def main():
    step, count, noise = 0.5, 60, 0.4
    truth = track(count, step)
    observations = measured(truth, noise)
    parts = model(step, 0.2, noise)
    transition, _, seen, error = parts
    states, covariances, predictions, predicted = filtered(observations, *parts)
    smooth = smoothed(states, covariances, predictions, predicted, transition)
    errors = [
        root_mean_square(values[10:] - truth[10:])
        for values in (observations, states[:, :2], smooth[:, :2])
    ]
    ways = fleet(20_000, 30, step)
    ends, surprise = filtered_together(ways + 0.1 * np.cos(17.0 * ways), *parts)
    return {
        "fleet": ends[::1000],
        "surprise": surprise[::1000],
        "speeds": np.abs(np.hypot(ends[:, 2], ends[:, 3]) - 1 - np.arange(20_000) % 5).max() < 0.2,
        "errors": np.array(errors),
        "better": bool(errors[2] < errors[1] < errors[0]),
        "states": states[::6],
        "smooth": smooth[::6, :2],
        "spread": np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))[::10],
        "likelihood": likelihood(observations, predictions, predicted, seen, error),
        "symmetric": np.allclose(covariances, np.swapaxes(covariances, 1, 2), atol=1e-3),
        "definite": bool(np.all(np.linalg.eigvalsh(covariances[-1]) > 0)),
        "speed": np.linalg.norm(states[-1, 2:]),
    }
