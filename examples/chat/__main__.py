"""`python -m examples.chat [--model PATH --tokenizer tokenizer.json] [--prompt TEXT] [--bits 4]`.

With a GGUF file, or a folder with `config.json` and safetensors files, of your own choice; without, a model of
characters learns for a minute. Prints what it writes, and how many tokens it writes in a second.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import tensorframe as tfr
from examples.chat.characters import trained
from tensorframe.nn.models import Llama


def say(
    model: Llama, prompt: Sequence[int], written: Callable[[list[int]], str], arguments: Any
) -> tuple[str, float]:
    """Return what a model writes after a prompt, and how many tokens in a second, the first one aside."""
    tokens: list[int] = []
    began = perf_counter()
    options = {
        "temperature": arguments.temperature,
        "top_p": 0.95,
        "key": tfr.random.key(arguments.seed),
    }
    for token in model.generate(list(prompt), max_tokens=arguments.tokens, **options):
        tokens.append(token)
        if len(tokens) == 1:
            began = perf_counter()
    seconds = perf_counter() - began
    return written(tokens), (len(tokens) - 1) / seconds if len(tokens) > 1 else 0.0


def from_files(arguments: Any) -> tuple[Llama, list[int], Callable[[list[int]], str]]:
    """Return a model of the user's files, the prompt's tokens, and what turns tokens into text."""
    from tokenizers import Tokenizer

    path = Path(arguments.model)
    model = Llama.from_folder(path) if path.is_dir() else Llama.from_gguf(path)
    tokenizer = Tokenizer.from_file(arguments.tokenizer or str(path / "tokenizer.json"))
    return model, tokenizer.encode(arguments.prompt).ids, tokenizer.decode


def main(given: Sequence[str] | None = None) -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="python -m examples.chat", description=__doc__)
    option = parser.add_argument
    option("--model", help="a .gguf file, or a folder with config.json and safetensors files")
    option("--tokenizer", help="tokenizer.json (that of the folder)")
    option("--prompt", default="The for statement ", help="what the model goes on with")
    option("--bits", type=int, default=4, choices=(4, 8), help="of the weights that are quantised")
    option("--tokens", type=int, default=200)
    option("--temperature", type=float, default=0.7)
    option("--seed", type=int, default=0)
    option("--steps", type=int, default=400, help="how long the model of characters learns")
    arguments = parser.parse_args(given)
    if arguments.model:
        model, prompt, written = from_files(arguments)
    else:
        model, text, losses = trained(arguments.steps)
        print(
            f"learned from {len(text.numbers)} characters: loss {losses[0]:.2f}, now {losses[-1]:.2f}"
        )
        prompt, written = text.encode(arguments.prompt).tolist(), text.decode
        _, speed = say(model, prompt, written, arguments)
        print(f"float32: {speed:.0f} tokens a second")
    print(tfr.nn.quantize(model, bits=arguments.bits))
    answer, speed = say(model, prompt, written, arguments)
    print(f"{arguments.bits} bits: {speed:.0f} tokens a second\n\n{arguments.prompt}{answer}")


if __name__ == "__main__":
    main()
