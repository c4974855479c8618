"""The optimisers' formulas in NumPy, in float64: one step of one parameter, with its state in a dict."""

import numpy as np


def sgd(p, g, s, t, lr=0.1, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
    g = g + weight_decay * p
    if momentum:
        s["b"] = g if t == 1 else momentum * s["b"] + (1 - dampening) * g
        g = g + momentum * s["b"] if nesterov else s["b"]
    return p - lr * g


def adam(
    p, g, s, t, lr=0.1, b1=0.9, b2=0.999, eps=1e-8, weight_decay=0.0, amsgrad=False, decoupled=False
):
    if decoupled:
        p = p - lr * weight_decay * p
    else:
        g = g + weight_decay * p
    s["m"] = b1 * s.get("m", 0) + (1 - b1) * g
    s["v"] = b2 * s.get("v", 0) + (1 - b2) * g**2
    s["top"] = np.maximum(s.get("top", 0), s["v"])
    v = s["top"] if amsgrad else s["v"]
    return p - lr * (s["m"] / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def adamw(p, g, s, t, weight_decay=0.01, **rest):
    return adam(p, g, s, t, weight_decay=weight_decay, decoupled=True, **rest)


def lion(p, g, s, t, lr=0.1, b1=0.9, b2=0.99, weight_decay=0.0):
    m = s.get("m", 0)
    s["m"] = b2 * m + (1 - b2) * g
    return p - lr * (np.sign(b1 * m + (1 - b1) * g) + weight_decay * p)


def rmsprop(
    p, g, s, t, lr=0.1, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False
):
    g = g + weight_decay * p
    s["v"] = alpha * s.get("v", 0) + (1 - alpha) * g**2
    s["a"] = alpha * s.get("a", 0) + (1 - alpha) * g
    step = g / (np.sqrt(s["v"] - s["a"] ** 2 if centered else s["v"]) + eps)
    s["b"] = momentum * s.get("b", 0) + step
    return p - lr * s["b"]


def adagrad(p, g, s, t, lr=0.1, decay=0.0, weight_decay=0.0, first=0.0, eps=1e-10):
    g = g + weight_decay * p
    s["v"] = s.get("v", first) + g**2
    return p - lr / (1 + (t - 1) * decay) * g / (np.sqrt(s["v"]) + eps)


def adafactor(p, g, s, t, lr=0.1, eps1=2.0**-23, eps2=1e-3, d=1.0, weight_decay=0.0, power=-0.8):
    def rms(x):
        return np.sqrt(np.mean(x**2))

    size = max(eps2, rms(p)) * min(lr, 1 / np.sqrt(t))
    p = p * (1 - lr * weight_decay)
    share = t**power
    if p.ndim > 1:
        for name, axis in (("row", -1), ("column", -2)):
            mean = np.mean(g**2, axis=axis, keepdims=True)
            s[name] = s.get(name, 0) + share * (mean - s.get(name, 0))
        estimate = s["row"] * s["column"] / max(np.mean(s["row"]), eps1)
    else:
        estimate = s["v"] = s.get("v", 0) + share * (g**2 - s.get("v", 0))
    step = g / np.sqrt(np.maximum(estimate, eps1**2))
    return p - size / max(1, rms(step) / d) * step


def muon(p, g, s, t, lr=0.1, momentum=0.95, nesterov=True, weight_decay=0.1, eps=1e-7):
    s["b"] = momentum * s.get("b", 0) + (1 - momentum) * g
    x = (1 - momentum) * g + momentum * s["b"] if nesterov else s["b"]
    tall = len(x) > len(x.T)
    x = x.T if tall else x
    x = x / max(np.linalg.norm(x), eps)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (-4.775 * gram + 2.0315 * gram @ gram) @ x
    x = x.T if tall else x
    return p * (1 - lr * weight_decay) - lr * np.sqrt(max(1, len(p) / len(p.T))) * x
