"""Attention, rotary positions and recurrent layers as their formulas say, in NumPy, one element or step at a time."""

import numpy as np


def attention(q, k, v, mask=None, scale=None, causal=False):
    """Averages of values: booleans of a mask say who takes part, numbers are added, rows without anybody are zeros."""
    scores = (q @ np.swapaxes(k, -1, -2)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if not scores.shape[-1]:
        return scores @ v
    largest = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(largest == -np.inf, 0, largest))
    total = weights.sum(-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)) @ v


def rope(x, dims=None, interleaved=False, base=10000.0, scale=1.0, offset=0):
    """Each pair of features is a complex number, turned by its angle."""
    dims = x.shape[-1] if dims is None else dims
    half = dims // 2
    result = np.array(x, np.float64)
    places = np.add.outer(np.asarray(offset), np.arange(x.shape[-2])) * scale
    for pair in range(half):
        first, second = (2 * pair, 2 * pair + 1) if interleaved else (pair, pair + half)
        turn = np.exp(1j * places * base ** (-2 * pair / dims))
        turned = (x[..., first] + 1j * x[..., second]) * turn
        result[..., first], result[..., second] = turned.real, turned.imag
    return result


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(x, state, w_ih, w_hh, b_ih, b_hh):
    return (np.tanh(w_ih @ x + b_ih + w_hh @ state[0] + b_hh),)


def relu_step(x, state, w_ih, w_hh, b_ih, b_hh):
    return (np.maximum(w_ih @ x + b_ih + w_hh @ state[0] + b_hh, 0),)


def lstm_step(x, state, w_ih, w_hh, b_ih, b_hh, w_hr=None):
    i, f, g, o = np.split(w_ih @ x + b_ih + w_hh @ state[0] + b_hh, 4)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h if w_hr is None else w_hr @ h, c


def gru_step(x, state, w_ih, w_hh, b_ih, b_hh):
    (h,) = state
    (r, z, n), (own_r, own_z, own_n) = np.split(w_ih @ x + b_ih, 3), np.split(w_hh @ h + b_hh, 3)
    candidate = np.tanh(n + sigmoid(r + own_r) * own_n)
    mix = sigmoid(z + own_z)
    return ((1 - mix) * candidate + mix * h,)


def recurrent(step, x, states, weights, directions):
    """One sequence (T, I) through layers; `weights` has four arrays, or five, for each layer and direction.

    Returns the outputs and, for each part of the state, what it is after the last step.
    """
    after = []
    for layer in range(len(weights) // directions):
        outputs = []
        for direction in range(directions):
            place = layer * directions + direction
            state = tuple(part[place] for part in states)
            steps = []
            for row in x[::-1] if direction else x:
                state = step(row, state, *weights[place])
                steps.append(state[0])
            outputs.append(steps[::-1] if direction else steps)
            after.append(state)
        x = np.concatenate(outputs, axis=-1)
    return x, [np.stack(parts) for parts in zip(*after, strict=True)]
