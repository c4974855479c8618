"""Models fitted by their derivatives: `python -m examples.gradients`."""
