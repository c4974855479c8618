"""Generation: one token after the other, each step one recording, whose keys and values stay where they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorframe.dtypes import INTEGER, float32, int32
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.conversion.convert import asarray
from tensorframe.frontend.dispatch import apply
from tensorframe.frontend.indexing.searching import where
from tensorframe.frontend.jit.arguments import host_default
from tensorframe.frontend.jit.jit import jit
from tensorframe.frontend.ordering.sorting import sort, topk
from tensorframe.frontend.random.distributions import uniform
from tensorframe.frontend.random.keys import Key, random_key, split
from tensorframe.frontend.reductions.elementary import argmax
from tensorframe.frontend.reductions.scans import cumulative_sum
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn.cache import BLOCK, KVCache, Stored
from tensorframe.nn.functional.activations import softmax
from tensorframe.nn.module import Module
from tensorframe.ops.elementwise import LOG, NEGATIVE

__all__ = ["CausalModel", "sample"]


def sample(
    logits: ArrayLike,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    key: Key | None = None,
) -> Tensor:
    """Tokens, int32 of shape (batch,), drawn by logits of shape (batch, vocabulary), on their device.

    `temperature` divides the logits; 0 takes the largest. `top_k` leaves the k largest, and what equals the last of
    them; `top_p` the fewest whose probabilities sum to at least that. ArgumentError for others than positive numbers.

    >>> logits = tfr.asarray([[0.0, 3.0, 1.0]])
    >>> tfr.nn.sample(logits, temperature=0).tolist()
    [1]
    """
    _check_choice(temperature, top_k, top_p)
    scores = asarray(logits)
    if scores.ndim != 2:
        raise ShapeError(f"sample: logits have shape (batch, vocabulary), got {scores.shape}")
    if temperature == 0:
        return argmax(scores, axis=-1).astype(int32)
    noise = uniform(scores.shape, key=random_key() if key is None else key, device=scores.device)
    return _drawn(scores, noise, temperature, top_k, top_p)


def _drawn(
    scores: Tensor, noise: Tensor, temperature: Any, top_k: int | None, top_p: float | None
) -> Tensor:
    """Return the positions of the largest scores, with the noise of Gumbel's distribution added.

    Source: E. J. Gumbel, "Statistical theory of extreme values and some practical applications" (1954).
    """
    scores = scores.astype(float32, copy=False) / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        least = topk(scores, top_k).values[:, -1:]
        scores = where(scores >= least, scores, float("-inf"))
    if top_p is not None and top_p < 1:
        ordered = sort(scores, descending=True)
        shares = softmax(ordered, -1)
        before = cumulative_sum(shares, axis=-1) - shares
        least = where(before < top_p, ordered, float("inf")).min(axis=-1, keepdims=True)
        scores = where(scores >= least, scores, float("-inf"))
    # of numbers in [0, 1), so that none is infinite
    gumbel = apply(NEGATIVE, apply(LOG, apply(NEGATIVE, apply(LOG, (noise + 1e-9) * (1 - 1e-6)))))
    return argmax(scores + gumbel, axis=-1).astype(int32)


def _check_choice(temperature: Any, top_k: Any, top_p: Any) -> None:
    if not isinstance(temperature, int | float) or not temperature >= 0:
        raise ArgumentError(f"generate: temperature is 0 or positive, got {temperature!r}")
    if top_k is not None and (not isinstance(top_k, int) or top_k < 1):
        raise ArgumentError(f"generate: top_k is a positive integer, got {top_k!r}")
    if top_p is not None and not (isinstance(top_p, int | float) and 0 < top_p <= 1):
        raise ArgumentError(f"generate: top_p is a probability above 0, got {top_p!r}")


class CausalModel(Module, ABC):
    """A model of the next token: what `generate` needs beside `forward(ids, cache, offsets, reach)`.

    `forward` gives logits (batch, length, vocabulary) of token numbers (batch, length). With a cache it writes keys and
    values from `offsets` (batch,) on, and attention looks at the first `reach` positions.
    """

    @abstractmethod
    def new_cache(self, batch: int, capacity: int, block: int = BLOCK) -> KVCache:
        """Return an empty cache for so many sequences of up to so many positions; a step adds up to `block` to each."""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many tokens there are."""

    @property
    @abstractmethod
    def context(self) -> int:
        """The most positions that a sequence may have."""

    def generate(
        self,
        ids: ArrayLike,
        *,
        max_tokens: int = 64,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        key: Key | None = None,
        stop: int | Sequence[int] = (),
        block: int = BLOCK,
    ) -> Iterator[Any]:
        """Yield tokens that go on with a prompt: integers, or for several prompts lists with one for each.

        `ids` are the prompt's token numbers, or a list of prompts, which may have unequal lengths. The prompt runs
        through the model in blocks of `block` tokens; each token after it is one step, which is recorded once for
        every 256 positions. Tokens are drawn on the model's device, see `nn.sample`; `temperature` 0, the default,
        takes the likeliest. `stop` are tokens that end a sequence, and are not given; a list has None for a sequence
        that has ended. The same `key` gives the same tokens.

        OutOfRangeError where prompt and tokens are more than the model's context, ArgumentError for an empty prompt
        or parameters out of their ranges.
        """
        _check_choice(temperature, top_k, top_p)
        prompts, single = _prompts(ids)
        if not isinstance(max_tokens, int) or max_tokens < 1:
            raise ArgumentError(f"generate: max_tokens is a positive integer, got {max_tokens!r}")
        longest = max(map(len, prompts))
        if longest + max_tokens > self.context:
            raise OutOfRangeError(
                f"generate: a prompt of {longest} tokens and {max_tokens} more are beyond the model's context of "
                f"{self.context}",
                suggestions=(f"max_tokens={max(self.context - longest, 0)}",),
            )
        stops = frozenset([stop] if isinstance(stop, int) else stop)
        run = _Run(self, prompts, longest + max_tokens, temperature, top_k, top_p, key, block)
        return _tokens(run, max_tokens, stops, single=single)


def _prompts(ids: Any) -> tuple[list[list[int]], bool]:
    """Return prompts as lists, and whether there was one alone."""
    if isinstance(ids, Tensor):
        ids = ids.numpy()
    if isinstance(ids, np.ndarray):
        if ids.dtype not in INTEGER:
            raise DTypeError(f"generate: tokens are integers, got {ids.dtype}")
        ids = ids.tolist()
    if not isinstance(ids, Sequence) or not len(ids):
        raise ArgumentError(f"generate: a prompt is a sequence of token numbers, got {ids!r:.60}")
    single = not isinstance(ids[0], Sequence | np.ndarray)
    prompts = [list(map(int, prompt)) for prompt in ([ids] if single else ids)]
    if not all(prompts):
        raise ArgumentError("generate: a prompt has at least one token")
    return prompts, single


class _Run:
    """A generation under way: a cache, and the recorded step."""

    def __init__(
        self,
        model: CausalModel,
        prompts: list[list[int]],
        capacity: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        key: Key | None,
        block: int,
    ) -> None:
        self.prompts, self._block = prompts, block
        self.cache = model.new_cache(len(prompts), capacity, block)
        self._device = self.cache.stored.both[0].device
        self._seed = (random_key() if key is None else key).value if temperature > 0 else None
        forward: Callable[..., Tensor] = model.forward
        is_ring, device = self.cache.stored.is_ring, self._device
        # arrays are taken as they are where the default device computes in host memory
        is_host = self._is_host = device is host_default()

        # the weights are part of the recording: looking at them in every step takes longer than a small one
        @jit(updates=("both",), donate=True, static_argnames="reach")
        def step(
            both: list[Tensor], ids: Tensor, offsets: Tensor, last: Any, seed: Any, reach: int
        ) -> tuple[Tensor, Tensor | None, Any]:
            tokens = ids[:, None] if ids.ndim == 1 else ids
            logits = forward(tokens, Stored(both, is_ring=is_ring), offsets, reach, last)[:, 0]
            # where the next token goes: numbers that stay on a device need no transfer
            after = None if is_host else offsets + 1
            if seed is None:
                return argmax(logits, axis=-1).astype(int32), after, None
            following, own = split(Key(seed))
            noise = uniform(logits.shape, key=own, device=device)
            return _drawn(logits, noise, temperature, top_k, top_p), after, following.value

        self._step = step
        self._offsets: Tensor | None = None  # those of the next token, on a device

    def prefill(self) -> Tensor:
        """Run the prompts through the model, and return the first tokens."""
        longest = max(map(len, self.prompts))
        first: Tensor | None = None
        for begin in range(0, longest, self._block):
            parts = [prompt[begin : begin + self._block] for prompt in self.prompts]
            count = max(map(len, parts))
            ids = np.zeros((len(parts), count), np.int32)
            for row, part in enumerate(parts):
                ids[row, : len(part)] = part
            lengths = [len(part) for part in parts]
            reach = self.cache.reach(count)
            last = [max(length - 1, 0) for length in lengths]
            self._offsets = None  # sequences are not equally long
            tokens = self._run(ids, np.array(last, np.int32), reach)
            ended = asarray(np.array([length > 0 for length in lengths]), device=self._device)
            first = tokens if first is None else where(ended, tokens, first)
            self.cache.advance(lengths)
        self._offsets = None
        assert first is not None
        return first

    def step(self, tokens: Tensor) -> Tensor:
        """Return the tokens after these."""
        reach = self.cache.reach(1)
        following = self._run(tokens, None, reach)
        self.cache.advance([1] * len(self.prompts))
        return following

    def _run(self, ids: Any, last: Any, reach: int) -> Tensor:
        """Return the tokens after `ids`, of which each sequence's number `last` counts; all are looked at if None."""
        both, offsets = self.cache.stored.both, self._offsets
        if offsets is None:
            offsets = self._given(np.array(self.cache.lengths, np.int32))
        ids, last = self._given(ids), self._given(last)
        result, self._offsets, self._seed = self._step(both, ids, offsets, last, self._seed, reach)
        return result

    def _given(self, array: Any) -> Any:
        """Return an array as the step takes it, on the model's device."""
        if self._is_host or not isinstance(array, np.ndarray):
            return array
        return asarray(array, device=self._device)


def _tokens(run: _Run, count: int, stops: frozenset[int], *, single: bool) -> Iterator[Any]:
    tokens = run.prefill()
    ended = [False] * len(run.prompts)
    for number in range(count):
        given = tokens.tolist()
        ended = [over or token in stops for over, token in zip(ended, given, strict=True)]
        if all(ended):
            return
        chosen = [None if over else token for over, token in zip(ended, given, strict=True)]
        yield chosen[0] if single else chosen
        if number + 1 < count:
            tokens = run.step(tokens)
