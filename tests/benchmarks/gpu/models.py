"""Lines that are no call of one program: the memory that attention takes, and tokens of a language model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import tensorframe as tfr
from tests.benchmarks import decoding
from tests.benchmarks.gpu.clock import Clock, share_of, time_of
from tests.benchmarks.workloads import attention


@dataclass(frozen=True)
class Memory:
    """W21: what attention over a long sequence takes beside its operands and its result."""

    heads: int
    length: int

    @property
    def name(self) -> str:
        """The line's first cell."""
        return f"W21 memory of attention, {self.heads}x{self.length}x{attention.FEATURES}"

    def cells(self, clock: Clock) -> list[str]:
        """Return the line's cells."""
        taken = self.taken(clock.device)
        scores = 4 * self.heads * self.length**2
        return [
            self.name,
            f"{taken / 2**20:.1f} MiB",
            f"{taken / scores:.1%} of the scores",
            "",
            "",
        ]

    def taken(self, device: tfr.Device) -> int:
        """Return the bytes."""
        shape = (1, self.heads, self.length, attention.FEATURES)
        q = tfr.random.normal(shape, key=tfr.random.key(0), device=device).compute()
        tfr.memory.reset_peak(device)
        before = tfr.memory.stats()[device].in_use
        result = attention.of_tensorframe(causal=False)(tfr, q, q, q).compute()
        return int(tfr.memory.stats()[device].peak - before - result.nbytes)


@dataclass(frozen=True)
class Decoding:
    """W23: a token of a model in the shape of Llama-3.2-1B with random weights; `bits` 32 leaves them in float32."""

    bits: int
    layers: int
    wide: int = 1  # by what its sizes are divided
    tokens: int = 24

    @property
    def name(self) -> str:
        """The line's first cell."""
        kind = "float32" if self.bits == 32 else f"{self.bits} bits"
        return f"W23 a token of a Llama of 1B, {kind}"

    def cells(self, clock: Clock) -> list[str]:
        """Return the line's cells."""
        model = self.model(clock.device)
        # the last product's matrix is the embedding's, and counts once
        weights = sum({id(one): one.nbytes for one in model.state_dict().values()}.values())
        tokens = model.generate([1, 2, 3, 4], max_tokens=self.tokens)
        ours = decoding.turns_of([tokens], self.tokens)[0].typical
        torch = self._by_torch(ours) if clock.device.backend in ("cuda", "rocm") else ""
        return [self.name, time_of(ours), share_of(weights, ours, clock.bandwidth), "", torch]

    def model(self, device: tfr.Device) -> tfr.nn.models.Llama:
        """Return the model."""
        heads = decoding.HEADS // self.wide
        config = {
            "vocab_size": decoding.WORDS // self.wide**2,
            "hidden_size": heads * decoding.SIZE,
            "intermediate_size": decoding.WIDE // self.wide,
            "num_hidden_layers": self.layers,
            "num_attention_heads": heads,
            "num_key_value_heads": decoding.SHARED // self.wide,
            "max_position_embeddings": decoding.CONTEXT,
            "tie_word_embeddings": True,
        }
        model = tfr.nn.models.Llama(config, device, key=tfr.random.key(0))
        if self.bits < 32:
            tfr.nn.quantize(model, bits=self.bits)
        return model

    def _by_torch(self, ours: float) -> str:
        if self.bits < 32 or find_spec("torch") is None:
            return ""
        try:
            tokens = decoding.of_pytorch(None, self.tokens, self.layers, "cuda")
            other = decoding.turns_of([tokens], self.tokens)[0].typical
        except Exception as error:  # a peer's failure is a line of the table
            return type(error).__name__
        return f"products alone {time_of(other)}, {other / ours:.2f}x ours"


def models(scale: float) -> Iterator[Memory | Decoding]:
    """Yield the lines; a divided size is a small model."""
    small = scale > 1
    yield Memory(1, 256) if small else Memory(attention.FEW_HEADS, attention.LONG)
    for bits in (32, 8, 4):
        yield Decoding(bits, 1, 8, 3) if small else Decoding(bits, 16)
