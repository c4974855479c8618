"""Libraries: how each takes NumPy arrays, uses every core, compiles a function, and finishes a result."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tests.benchmarks.machine import cores

Function = Callable[..., Any]

# pieces of arrays smaller than this are not worth a task each
WORTH_SPLITTING = 1 << 20


def same(value: Any) -> Any:
    """Return what NumPy can work with as it is."""
    return value


def parts(result: Any) -> tuple[Any, ...]:
    """Return the arrays of a result that may be one or several."""
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def record(array: Any) -> Any:
    """Return a tensor that is there before the clock starts."""
    return import_module("tensorframe").asarray(array)


def compute(result: Any) -> Any:
    """Compute what was recorded, all results in one plan."""
    if isinstance(result, tuple):
        return import_module("tensorframe").compute(*result)
    return result.compute()


def prepare_numexpr(numexpr: Any) -> Any:
    """Use every core."""
    numexpr.set_num_threads(cores())
    return numexpr


def prepare_numba(functions: Any) -> Any:
    """Use every core, in what is compiled with parallel=True."""
    import_module("numba").set_num_threads(cores())
    return functions


def prepare_torch(torch: Any) -> Any:
    """Use every core."""
    torch.set_num_threads(cores())
    return torch


def to_torch(array: Any) -> Any:
    """Return the same memory as PyTorch's."""
    return import_module("torch").from_numpy(array)


def compiled_by_torch(function: Function) -> Function:
    """Compile for these shapes alone, as if nothing had been compiled before."""
    torch = import_module("torch")
    torch.compiler.reset()
    compiled: Function = torch.compile(function, dynamic=False)
    return compiled


def prepare_jax(functions: Any) -> Any:
    """Take float64 as it is given, and the CPU where there is more."""
    config = import_module("jax").config
    config.update("jax_enable_x64", True)
    config.update("jax_platforms", "cpu")
    return functions


def to_jax(array: Any) -> Any:
    """Return the array on JAX's device."""
    return import_module("jax.numpy").asarray(array)


def compiled_by_jax(function: Function) -> Function:
    """Compile with XLA."""
    compiled: Function = import_module("jax").jit(function)
    return compiled


def finish_jax(result: Any) -> Any:
    """Wait: JAX returns before it has computed."""
    return import_module("jax").block_until_ready(result)


def to_dask(array: Any) -> Any:
    """Return the array in as many pieces of rows as there are cores."""
    rows = len(array) // cores() if array.nbytes > WORTH_SPLITTING else len(array)
    return import_module("dask.array").from_array(array, chunks=(rows, *array.shape[1:]))


def finish_dask(result: Any) -> Any:
    """Compute on a thread for each core."""
    values = import_module("dask").compute(*parts(result), scheduler="threads", num_workers=cores())
    return values if isinstance(result, tuple) else values[0]


def prepare_tinygrad(tinygrad: Any) -> Any:
    """Return the class, whose methods are the functions."""
    return tinygrad.Tensor


def to_tinygrad(array: Any) -> Any:
    """Return the array on tinygrad's CPU device."""
    return import_module("tinygrad").Tensor(array, device="CPU").realize()


def compiled_by_tinygrad(function: Function) -> Function:
    """Replay the kernels from the third call on."""
    tinygrad = import_module("tinygrad")

    def realized(*inputs: Any) -> Any:
        results = parts(function(*inputs))
        results[0].realize(*results[1:])
        return results if len(results) > 1 else results[0]

    compiled: Function = tinygrad.TinyJit(realized)
    return compiled


def finish_tinygrad(result: Any) -> Any:
    """Wait: tinygrad returns before it has computed."""
    import_module("tinygrad").Device["CPU"].synchronize()
    return result


def from_tinygrad(array: Any) -> Any:
    """Return NumPy's array."""
    return array.numpy()


def compiled_by_pytensor(function: Function) -> Function:
    """Build the function when it is first called, for those dtypes and shapes."""
    built: list[Function] = []

    def call(*arrays: Any) -> Any:
        if not built:
            tensor = import_module("pytensor.tensor")
            variables = [tensor.tensor(dtype=array.dtype, shape=array.shape) for array in arrays]
            built.append(
                import_module("pytensor").function(
                    variables,
                    function(*variables),
                    trust_input=True,
                    on_unused_input="ignore",
                )
            )
        return built[0](*arrays)

    return call


def compiled_by_us(function: Function) -> Function:
    """Replay the recorded plan; a call computes."""
    compiled: Function = import_module("tensorframe").jit(function)
    return compiled
