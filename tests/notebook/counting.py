"""How many elements plans make while a block runs, and with how many operations."""

import math
from contextlib import contextmanager
from dataclasses import dataclass

from tensorframe.runtime.execution.events import Moment, listen


@dataclass
class Made:
    """What was computed, views aside."""

    elements: int = 0
    flops: float = 0.0


@contextmanager
def counted():
    """Give what plans compute in the block; the small path is off, as it tells nobody what it does."""
    import tensorframe as tfr

    made = Made()

    def note(event):
        if event.moment is Moment.STEP_FINISHED:
            step = event.plan.steps[event.step]
            if not step.is_view:
                shapes = [event.plan.slots[slot].shape for slot in step.outputs]
                made.elements += sum(map(math.prod, shapes))
                made.flops += step.flops

    with tfr.config.override(small_size=0), listen(note):
        yield made
