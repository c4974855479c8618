"""Words for how far a compute is: the same in terminals and notebooks."""

from __future__ import annotations

from tensorframe.runtime.progress.phases import Phase, State
from tensorframe.schedule.plan import human_bytes

_LONGEST = 40


def step_words(state: State) -> str:
    """Return `step 3 of 80: matmul on cpu`, `compiling 12/40: exp on cpu`, `opening wgpu`; long names are cut."""
    if state.phase is Phase.OPENING:
        return f"opening {state.device}"
    if state.phase is Phase.PLANNING:
        return f"planning {state.steps:,} operations"
    name = state.step if len(state.step) <= _LONGEST else f"{state.step[:_LONGEST]}..."
    what = f"{name} on {state.device}"
    if state.phase is Phase.STREAMING:
        return f"tile {state.done + 1} of {state.steps}: {what}"
    if state.phase is Phase.RUNNING:
        return f"step {state.done + 1} of {state.steps}: {what}"
    return f"{state.phase.value} {state.done + 1}/{state.steps}: {what}"


def amounts(state: State) -> list[str]:
    """Return what was moved of all, and memory against the device's; nothing while nothing moves."""
    if state.phase not in (Phase.RUNNING, Phase.STREAMING):
        return []
    every = human_bytes(state.bytes)
    moved = (
        f"{human_bytes(state.moved)} of {every} moved" if state.steps > 1 else f"{every} to move"
    )
    memory = f"memory {human_bytes(state.memory)}"
    if state.limit:
        memory += f" of {human_bytes(state.limit)}"
    return [moved, memory]


def time_words(state: State) -> str:
    """Return `0:12, about 0:30 left`, without the second half where nothing can be said."""
    gone = _clock(state.elapsed)
    return gone if state.left is None else f"{gone}, about {_clock(state.left)} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
