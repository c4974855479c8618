"""W23: tokens per second of a model in the shape of Llama-3.2-1B with random weights, beside llama.cpp and PyTorch.

    python -m tests.benchmarks.decoding [f32|q8_0|q4_0 ...] [--layers N] [--tokens N] [--threads N]

writes a GGUF file for each kind and lets tensorframe and llama.cpp (its Python wheel) decode from it in one process, by
turns of some tokens; PyTorch multiplies the same matrices in float32, if it is there. Reading has a turn as well: of as
many bytes as the weights have, as `tfr.calibrate` reads memory. Of each, the median of the faster half of the tokens
counts, and of shares of reading the median of all turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe.backends.numpy.threads import thread_count
from tests.benchmarks.tables import Table

HIDDEN, WIDE, HEADS, SHARED, SIZE, WORDS = 2048, 8192, 32, 8, 64, 128256
CONTEXT, PROMPT = 512, 16
# Tokens of a turn. A virtual machine's cores move while it runs: on an AMD Zen 4 two that share a cache read 37 GB/s,
# and two that do not 65, for seconds each. So a share of reading is that of what was read in the same turn.
TURN = 4
READING = "reading alone"
# bytes of an array that is read, at most: beyond all caches, and there is room for it beside the weights
ARRAY = 1 << 30
# of elements in a block of a kind, and its bytes
BLOCKS = {"f32": (1, 4), "q8_0": (32, 34), "q4_0": (32, 18)}


def matrices(layers: int) -> Iterator[tuple[str, int, int]]:
    """Names, rows and columns of the model's matrices."""
    yield "token_embd", WORDS, HIDDEN
    for layer in range(layers):
        block = f"blk.{layer}"
        yield f"{block}.attn_q", HEADS * SIZE, HIDDEN
        yield f"{block}.attn_k", SHARED * SIZE, HIDDEN
        yield f"{block}.attn_v", SHARED * SIZE, HIDDEN
        yield f"{block}.attn_output", HIDDEN, HEADS * SIZE
        yield f"{block}.ffn_gate", WIDE, HIDDEN
        yield f"{block}.ffn_up", WIDE, HIDDEN
        yield f"{block}.ffn_down", HIDDEN, WIDE


def random_blocks(kind: str, rows: int, columns: int, generator: np.random.Generator) -> Any:
    """A matrix as a file has it: random integers, and one scale."""
    count, nbytes = BLOCKS[kind]
    if kind == "f32":
        return generator.standard_normal((rows, columns), np.float32) * 0.02
    blocks = generator.integers(0, 256, (rows, columns // count, nbytes), np.uint8)
    scale = 0.02 / (37 if kind == "q8_0" else 4.6)
    blocks[..., :2] = np.frombuffer(np.float16(scale).tobytes(), np.uint8)
    return blocks.reshape((rows, -1))


def write(path: Path, kind: str, layers: int) -> None:
    """Write a model of random weights."""
    from gguf import GGMLQuantizationType, GGUFWriter

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(SHARED)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(500000.0)
    writer.add_rope_dimension_count(SIZE)
    writer.add_vocab_size(WORDS)
    # llama.cpp has no use for a model without words
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([f"word {number}" for number in range(WORDS)])
    writer.add_token_merges(["w o"])
    generator = np.random.default_rng(0)
    raw = None if kind == "f32" else GGMLQuantizationType[kind.upper()]
    for name, rows, columns in matrices(layers):
        writer.add_tensor(
            f"{name}.weight", random_blocks(kind, rows, columns, generator), raw_dtype=raw
        )
        if name.endswith("attn_q"):
            block = name.removesuffix(".attn_q")
            for norm in ("attn_norm", "ffn_norm"):
                writer.add_tensor(f"{block}.{norm}.weight", np.ones(HIDDEN, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(HIDDEN, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def of_tensorframe(path: Path, count: int) -> Iterator[int]:
    """Yield greedy tokens."""
    model = tfr.nn.models.Llama.from_gguf(path)
    yield from model.generate(list(range(1, PROMPT + 1)), max_tokens=count)


def claims_amx() -> bool:
    """Whether Linux says that the processor has AMX; True where nobody says anything."""
    try:
        return "amx" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return True


def of_llama_cpp(path: Path, count: int) -> Iterator[int]:
    """Yield greedy tokens.

    Weights are repacked as it likes, but where the processor claims to have AMX: its kernels for that end the process
    on virtual machines that only claim it.
    """
    import llama_cpp

    if claims_amx():
        defaults = llama_cpp.llama_model_default_params

        def without_extra_buffers() -> Any:
            parameters = defaults()
            parameters.use_extra_bufts = False
            return parameters

        llama_cpp.llama.llama_cpp.llama_model_default_params = without_extra_buffers
    model = llama_cpp.Llama(str(path), n_ctx=CONTEXT, n_threads=thread_count(), verbose=False)
    model.eval(list(range(1, PROMPT + 1)))
    for _ in range(count):
        logits = np.ctypeslib.as_array(model._ctx.get_logits_ith(-1), (WORDS,))
        token = int(np.argmax(logits))
        yield token
        model.eval([token])


def of_pytorch(_path: Path | None, count: int, layers: int, device: str = "cpu") -> Iterator[int]:
    """Yield as often as a vector has been multiplied by all matrices in float32: the least that a token takes."""
    import torch

    weights = [
        torch.zeros(rows, columns, device=device) + 0.01 for _, rows, columns in matrices(layers)
    ]
    vectors = {size: torch.ones(size, device=device) for size in (HIDDEN, WIDE)}
    with torch.no_grad():
        for _ in range(count):
            for weight in weights:
                last = torch.mv(weight, vectors[weight.shape[1]])
            last[0].item()  # which waits for a GPU
            yield 0


def of_reading(_path: Path, size: int, count: int) -> Iterator[int]:
    """Yield as often as so many bytes have been read as `tfr.calibrate` reads them: finding the largest element."""
    times = -(-size // ARRAY)
    values = tfr.asarray(np.full(size // times // 4, 0.5, np.float32), copy=False)
    for _ in range(count):
        for _ in range(times):
            float(values.max())
        yield 0


class Turns(NamedTuple):
    """The seconds of each token, turn by turn, and the tokens."""

    seconds: list[list[float]]
    tokens: list[int]

    @property
    def typical(self) -> float:
        """The median of the faster half."""
        every = np.sort(np.concatenate(self.seconds))
        return float(np.median(every[: max(len(every) // 2, 1)]))

    def share(self, reading: Turns) -> float:
        """Return the part of reading's speed: the median of turns, by the fastest token of each."""
        pairs = zip(self.seconds, reading.seconds, strict=True)
        return float(np.median([min(read) / min(mine) for mine, read in pairs]))


def turns_of(several: Sequence[Iterator[int]], count: int) -> list[Turns]:
    """Return the times and tokens of each, which gives so many; the first one is not timed."""
    turns = [Turns([], [next(tokens)]) for tokens in several]
    for first in range(1, count, TURN):
        for tokens, (seconds, given) in zip(several, turns, strict=True):
            times = []
            for _ in range(min(TURN, count - first)):
                began = time.perf_counter()
                given.append(next(tokens))
                times.append(time.perf_counter() - began)
            seconds.append(times)
    return turns


class Decoded(NamedTuple):
    """What a library took for a token, the part of reading's speed that this is, and the tokens that it gave."""

    kind: str
    name: str
    seconds: float
    share: float
    size: int
    tokens: list[int]

    @property
    def rate(self) -> str:
        """The bytes of weights in a second."""
        return f"{self.size / self.seconds / 1e9:.1f} GB/s"

    def __str__(self) -> str:
        """A line for the terminal."""
        return (
            f"{self.kind:5} {self.name:24} {1 / self.seconds:6.2f} tokens/s, {1e3 * self.seconds:6.1f} ms, "
            f"{self.rate}, {self.share:.0%} of reading; begins {self.tokens[:4]}"
        )


def decoded(kinds: Sequence[str], layers: int, tokens: int) -> Iterator[Decoded]:
    """Yield what each library takes, from the same file of each kind."""
    for kind in kinds:
        count, nbytes = BLOCKS[kind]
        # the embedding is the last product's matrix too
        size = sum(rows * columns for _, rows, columns in matrices(layers)) // count * nbytes
        runs: dict[str, Callable[[Path], Iterator[int]]] = {
            READING: partial(of_reading, size=size, count=tokens),
            "tensorframe": partial(of_tensorframe, count=tokens),
        }
        if find_spec("llama_cpp"):
            runs["llama.cpp"] = partial(of_llama_cpp, count=tokens)
        if find_spec("torch") and kind == "f32":
            runs["PyTorch, products alone"] = partial(of_pytorch, count=tokens, layers=layers)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.gguf"
            write(path, kind, layers)
            measured = turns_of([run(path) for run in runs.values()], tokens)
            for name, turns in zip(runs, measured, strict=True):
                share = turns.share(measured[0])
                yield Decoded(kind, name, turns.typical, share, size, turns.tokens)


def table(measured: Sequence[Decoded]) -> Table:
    """Return milliseconds a token as a table."""
    rows = [
        [one.kind, one.name, f"{1e3 * one.seconds:.1f} ms", one.rate, f"{one.share:.0%}"]
        for one in measured
    ]
    return Table(
        "", ["weights", "", "a token", "weights a second", "of reading"], rows, range(2, 5)
    )


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=["q8_0", "q4_0"], choices=list(BLOCKS))
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    tfr.config.configure(threads=options.threads)
    for one in decoded(options.kinds, options.layers, options.tokens):
        sys.stdout.write(f"{one}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
