"""Training steps: a perceptron, a convolutional network and a small language model, with AdamW."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from tests.benchmarks.fresh import output, peak_bytes
from tests.benchmarks.goals import BEST, OURS, Goal, within
from tests.benchmarks.workload import Case, Run, Unit, Workload, Yardstick

MODULES = {OURS: "ours", "torch": "in_torch", "JAX": "in_jax"}
# libraries that ask the system for threads before anybody can tell them to use one
ONE_THREAD = MappingProxyType(
    {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "JAX_PLATFORMS": "cpu",
    }
)
PLAIN = {"TRAINING_UPDATE": "plain"}
TITLES = {
    "mlp": "MLP 784-512-512-10, batch 256",
    "cnn": "CNN 28x28, 32 and 64 channels, batch 64",
    "gpt": "GPT of 4 layers, 128 wide, 12 x 64 letters",
}


def seconds_of(
    module: str, network: str, what: str, settings: Mapping[str, str], _: Any, *__: Any
) -> float:
    """Return the processor time of a step, or of the first one, in a process of its own with one thread."""
    arguments = ["-m", f"tests.benchmarks.training.{module}", network, what]
    return float(output(arguments, "", settings={**ONE_THREAD, **settings}).splitlines()[-1])


def peak_of(module: str, _: Any) -> float:
    """Return the peak memory of a process that trains the language model, the library and its compiler included."""
    program = (
        f"import os, sys; os.environ.update({dict(ONE_THREAD)!r}); sys.argv = ['', 'gpt', 'peak']\n"
        f"from tests.benchmarks.training import {module}\n"
    )
    return peak_bytes(program + f"{module}.measure({module}.prepare)")


def _runs(network: str, what: str) -> dict[str, Run]:
    return {
        peer: partial(seconds_of, module, network, what, {}) for peer, module in MODULES.items()
    }


def _steps(network: str, goal: Goal) -> Case:
    not_fused = partial(seconds_of, "in_torch", network, "step", PLAIN)
    return Case(
        f"a step of the {TITLES[network]}",
        _runs(network, "step"),
        (goal,),
        (Yardstick("torch, not fused", "torch", not_fused),),
        measures_itself=True,
        turns=2,
    )


TRAINING = Workload(
    "W19",
    "Training steps with AdamW, each library in processes of its own with one thread: processor time of the fastest "
    "step and of the first one, and the peak memory of a process that trains the language model. PyTorch's "
    "update is fused, JAX's step is compiled with its arguments donated.",
    (
        _steps("mlp", within(1.0, BEST)),
        _steps("cnn", within(1.0, BEST)),
        _steps("gpt", within(0.9, BEST)),
        Case(
            "the first step of the GPT",
            _runs("gpt", "first"),
            (within(1 / 3, "JAX"),),
            measures_itself=True,
            turns=1,
        ),
        Case(
            "memory of a process that trains the GPT",
            {peer: partial(peak_of, module) for peer, module in MODULES.items()},
            (within(0.5, "torch"),),
            unit=Unit.BYTES,
            measures_itself=True,
            turns=1,
        ),
    ),
)
