"""Both examples, one after the other."""

from __future__ import annotations

from examples.gradients import logistic, pendulum

logistic.main()
print()
pendulum.main()
