"""The command line: read NumPy's documentation, or remember it, and answer the queries."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import tensorframe as tfr
from examples.semantic_search import model, tokens
from examples.semantic_search.cache import digest, remembered
from examples.semantic_search.corpus import Entry, numpy_functions
from examples.semantic_search.search import Embedder, nearest
from examples.semantic_search.wheel import FILES, MissingModelError, model_folder
from tensorframe.errors import TensorFrameError

QUERIES = (
    "solve a system of linear equations",
    "draw random numbers from a bell curve",
    "fit a curve through noisy points",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the best matches of each query; the result is the exit status."""
    options = command_line().parse_args(arguments)
    try:
        with tfr.use_backend(options.device) if options.device else nullcontext():
            search(options)
    except (MissingModelError, TensorFrameError) as error:
        print(f"semantic_search: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(
            f"semantic_search: {error}\n  try: pip install 'tensorframe-lazy[demo]'",
            file=sys.stderr,
        )
    else:
        return 0
    return 1


def command_line() -> argparse.ArgumentParser:
    """What may be asked."""
    parser = argparse.ArgumentParser(
        prog="semantic_search", description="Finds NumPy functions by what they do, in your words."
    )
    option = parser.add_argument
    option("--query", action="append", metavar="TEXT", help="what to look for; may be repeated")
    option("--top", type=positive, default=5, metavar="N", help="matches to show (%(default)s)")
    option("--device", help="where to compute: cpu, cuda:0, opencl ... (the best there is)")
    option("--batch-size", type=positive, default=16, metavar="N", help="texts (%(default)s)")
    option("--no-cache", action="store_true", help="embed everything anew, and keep nothing")
    return parser


def positive(text: str) -> int:
    """An integer above zero."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def search(options: argparse.Namespace) -> None:
    """From the options to the printed answers."""
    folder, entries = model_folder(), numpy_functions()
    encoder = model.load_encoder(folder)
    embed = Embedder(tokens.load_tokenizer(folder), encoder, options.batch_size)

    def embed_entries() -> tfr.Tensor:
        return embed([entry.text for entry in entries], progress=True)

    name = identity(folder, encoder, entries)
    known = embed_entries() if options.no_cache else remembered(name, embed_entries)
    queries = options.query or QUERIES
    answers = nearest(embed(queries), known, options.top)
    for query, scores, rows in zip(queries, *answers, strict=True):
        print(table(query, scores, [entries[row] for row in rows]))


def identity(folder: Path, encoder: model.Encoder, entries: Iterable[Entry]) -> str:
    """A digest of all that the embeddings of `entries` follow from: code, weights, texts, device."""
    code = [Path(str(module.__file__)) for module in (model, tokens)]
    data = [folder / name for name in FILES]
    versions = [tfr.__version__, np.__version__, str(encoder.device)]
    return digest(*code, *data, *versions, *(entry.text for entry in entries))


def table(query: str, scores: Iterable[float], entries: Sequence[Entry]) -> str:
    """The query, and below it one line per match: cosine, name, what the function does."""
    columns = max(shutil.get_terminal_size((110, 24)).columns, 60)
    width = max(len(entry.name) for entry in entries)
    lines = [query]
    for score, entry in zip(scores, entries, strict=True):
        match = f"  {score:.3f}  {entry.name:{width}}  "
        lines.append(
            match + textwrap.shorten(entry.summary, columns - len(match), placeholder=" ...")
        )
    return "\n".join(lines) + "\n"
