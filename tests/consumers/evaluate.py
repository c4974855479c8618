"""Evaluates expressions twice, on NumPy arrays and on tensors, in a process of its own.

SciPy reads SCIPY_ARRAY_API when it is first imported, so the tests that need it cannot share a process with others.
Reads JSON from stdin: {"setup": code, "expressions": [...]}; in an expression, `a(x)` is x as an array or a tensor.
Writes JSON to stdout: for each expression what came out.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings

import numpy as np

import tensorframe as tfr


def outcome(expression, names):
    try:
        expected = eval(expression, {**names, "a": np.asarray, "xp": np})
        result = eval(expression, {**names, "a": tfr.asarray, "xp": tfr})
    except Exception:
        return {"kind": "error", "close": False, "detail": traceback.format_exc()}
    values = np.asarray(result)
    close = values.shape == np.shape(expected) and np.allclose(
        values, expected, rtol=1e-6, atol=1e-9, equal_nan=True
    )
    return {
        "kind": type(result).__name__,
        "close": bool(close),
        "detail": f"{values}, not {expected}",
    }


def main():
    task = json.load(sys.stdin)
    names = {"np": np}
    warnings.simplefilter("ignore")  # what these libraries deprecate is not the subject
    exec(task["setup"], names)
    json.dump({one: outcome(one, names) for one in task["expressions"]}, sys.stdout)


if __name__ == "__main__":
    main()
