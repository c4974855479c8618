"""A small language model that learns to write Python's language reference, character by character.

The text comes with Python: the half a million characters of `pydoc_data.topics`. The model is a transformer that
predicts each character from the 64 before it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pydoc_data.topics import topics
from typing import NamedTuple

import numpy as np

import tensorframe as tfr
from tensorframe import nn
from tensorframe.nn import functional as F  # noqa: N812 - as users of PyTorch write it


class Size(NamedTuple):
    """How large a model is, and how long it learns."""

    layers: int = 4
    heads: int = 4
    width: int = 128
    context: int = 64
    batch: int = 16
    steps: int = 1500
    rate: float = 2e-3


class Text:
    """Text as numbers: one for each character that can be typed, whether it occurs or not."""

    def __init__(self, text: str) -> None:
        self.alphabet = ["\n", *map(chr, range(ord(" "), ord("~") + 1))]
        self._number = {letter: number for number, letter in enumerate(self.alphabet)}
        self.numbers = self.encode(text)

    def encode(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        """Return the numbers of characters."""
        return np.array([self._number[letter] for letter in text], np.int32)

    def decode(self, numbers: list[int]) -> str:
        """Return the characters of numbers."""
        return "".join([self.alphabet[number] for number in numbers])


def reference() -> Text:
    """Return the language reference of this Python, its rare characters left out."""
    text = "\n\n".join([topics[name] for name in sorted(topics)])
    return Text("".join([letter for letter in text if letter == "\n" or " " <= letter <= "~"]))


class Attention(nn.Module):
    """Each position looks at those before it, with several heads at once."""

    def __init__(self, size: Size) -> None:
        self.heads = size.heads
        self.inputs = nn.Linear(size.width, 3 * size.width, bias=False)
        self.outputs = nn.Linear(size.width, size.width, bias=False)

    def forward(self, x: tfr.Tensor) -> tfr.Tensor:
        """Return what each position of (batch, positions, width) sees."""
        batch, positions, _ = x.shape
        q, k, v = (
            part.reshape((batch, positions, self.heads, -1)).transpose(0, 2, 1, 3)
            for part in tfr.split(self.inputs(x), 3, axis=-1)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        joined: tfr.Tensor = self.outputs(seen.transpose(0, 2, 1, 3).reshape(x.shape))
        return joined


class Block(nn.Module):
    """Attention, then a network for each position, both beside a way past them."""

    def __init__(self, size: Size) -> None:
        self.norm1, self.norm2 = nn.LayerNorm(size.width), nn.LayerNorm(size.width)
        self.attention = Attention(size)
        self.wide = nn.Linear(size.width, 4 * size.width)
        self.narrow = nn.Linear(4 * size.width, size.width)

    def forward(self, x: tfr.Tensor) -> tfr.Tensor:
        """Return new features of all positions."""
        x = x + self.attention(self.norm1(x))
        result: tfr.Tensor = x + self.narrow(tfr.gelu(self.wide(self.norm2(x))))
        return result


class GPT(nn.Module):
    """A transformer: scores of the next character at each position. Its first and last weights are one."""

    def __init__(self, letters: int, size: Size) -> None:
        self.context = size.context
        self.letters = nn.Embedding(letters, size.width)
        self.positions = nn.Embedding(size.context, size.width)
        self.blocks = [Block(size) for _ in range(size.layers)]
        self.norm = nn.LayerNorm(size.width)
        self.scores = nn.Linear(size.width, letters, bias=False)
        self.scores.weight = self.letters.weight
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                # what is added to the way past a block begins smaller, the more blocks there are
                is_last = name.endswith(("outputs.weight", "narrow.weight"))
                std = 0.02 / (2 * size.layers) ** 0.5 if is_last else 0.02
                nn.init.normal_(parameter, std=std)

    def forward(self, numbers: tfr.Tensor) -> tfr.Tensor:
        """Return scores (batch, positions, letters) for numbers of characters (batch, positions)."""
        x = self.letters(numbers) + self.positions.weight[: numbers.shape[1]]
        for block in self.blocks:
            x = block(x)
        scores: tfr.Tensor = self.scores(self.norm(x))
        return scores


def loss(model: GPT, windows: tfr.Tensor) -> tfr.Tensor:
    """Return the surprise at each character after the first, in nats."""
    scores = model(windows[:, :-1])
    return F.cross_entropy(scores.reshape((-1, scores.shape[-1])), windows[:, 1:].reshape(-1))


@tfr.jit(updates=("model", "optimizer"))
def step(model: GPT, optimizer: tfr.optim.Optimizer, windows: tfr.Tensor) -> tfr.Tensor:
    """Learn from a batch of windows, and return the loss before that."""
    value: tfr.Tensor
    value, gradients = tfr.value_and_grad(loss)(model, windows)
    optimizer.update(model, gradients)
    return value


@tfr.jit
def next_letter(
    model: GPT, numbers: tfr.Tensor, last: tfr.Tensor, temperature: float, key: tfr.random.Key
) -> tfr.Tensor:
    """Return a character after the one at position `last`: that of the largest score plus Gumbel's noise."""
    scores = model(numbers)[0, last] / temperature
    noise = -tfr.log(tfr.random.exponential(scores.shape, key=key))
    return tfr.argmax(scores + noise)


def windows_of(text: Text, size: Size) -> Iterator[tfr.Tensor]:
    """Yield batches of windows that begin anywhere in the text, the same ones in every run."""
    random = np.random.default_rng(0)
    places = np.arange(size.context + 1)
    while True:
        starts = random.integers(0, len(text.numbers) - size.context, size.batch)
        yield tfr.asarray(text.numbers[starts[:, None] + places])


def train(model: GPT, text: Text, size: Size) -> list[float]:
    """Let a model learn, and return its losses."""
    schedules = tfr.optim.schedules
    rate = schedules.warm_up(schedules.cosine(size.rate, size.steps, size.rate / 10), 50)
    optimizer = tfr.optim.AdamW(
        rate, betas=(0.9, 0.99), weight_decay=0.1, decays=lambda _, parameter: parameter.ndim == 2
    )
    optimizer.init(model)
    losses = [
        step(model, optimizer, windows)
        for windows, _ in zip(windows_of(text, size), range(size.steps), strict=False)
    ]
    return [value.item() for value in losses]


def written(model: GPT, text: Text, begin: str, count: int, temperature: float = 0.7) -> str:
    """Return a beginning, and what the model writes after it."""
    numbers = text.encode(begin).tolist()
    for key in tfr.random.split(tfr.random.key(1), max(count, 2))[:count]:
        window = numbers[-model.context :]
        padded = tfr.asarray([window + [0] * (model.context - len(window))])
        place = tfr.asarray(len(window) - 1)
        numbers.append(next_letter(model, padded, place, temperature, key).item())
    return text.decode(numbers)


def curve(losses: list[float], columns: int = 60, rows: int = 10) -> str:
    """Return losses as a curve of text: the means of as many parts as there are columns."""
    means = [part.mean() for part in np.array_split(np.array(losses), min(columns, len(losses)))]
    most, least = max(means), min(means)
    heights = [round((mean - least) / max(most - least, 1e-9) * (rows - 1)) for mean in means]
    lines = []
    for row in reversed(range(rows)):
        label = least + (most - least) * row / (rows - 1)
        lines.append(
            f"{label:5.2f} "
            + "".join(["*" if height == row else " " for height in heights]).rstrip()
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Learn, and show the curve of losses and a sample of what the model writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=Size().steps)
    parser.add_argument("--layers", type=int, default=Size().layers)
    size = Size(**vars(parser.parse_args(arguments)))
    tfr.random.seed(0)
    text = reference()
    model = GPT(len(text.alphabet), size)
    print(nn.summary(model, tfr.zeros((size.batch, size.context), dtype=tfr.int32)))
    losses = train(model, text, size)
    last = np.mean(losses[-max(size.steps // 20, 1) :])
    print(f"\nloss, from {losses[0]:.2f} to {last:.2f} in {size.steps} steps")
    print(curve(losses))
    print(written(model, text, "The for statement", 400))


if __name__ == "__main__":
    main()
