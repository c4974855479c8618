"""Models that people have: the tokens that PyTorch gives, caches, files, encoders, bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFWriter

import tensorframe as tfr
from tensorframe.errors import (
    ArgumentError,
    DTypeError,
    FileFormatError,
    MissingFileError,
    OutOfRangeError,
    ShapeError,
)
from tests.backends.devices import FOUND
from tests.nn.language_model_files import write_gguf
from tests.nn.language_model_weights import (
    CONFIGS,
    GPT_CONFIG,
    PROMPT,
    gpt_weights,
    llama_weights,
)

GPT, BertEncoder, Llama = tfr.nn.models.GPT, tfr.nn.models.BertEncoder, tfr.nn.models.Llama
MIB = 1 << 20
BERT_CONFIG = {
    "model_type": "bert",
    "vocab_size": 40,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 20,
}


def made(kind: str, device: str | None = None) -> Any:
    """A model with the weights that PyTorch was given."""
    is_gpt = kind == "gpt2"
    model = GPT(GPT_CONFIG, device) if is_gpt else Llama(CONFIGS[kind], device)
    weights = gpt_weights() if is_gpt else llama_weights(kind)
    model.load_state_dict({name: tfr.asarray(part) for name, part in weights.items()})
    return model


@pytest.mark.parametrize("kind", [*CONFIGS, "gpt2"])
def test_tokens_are_those_of_pytorch(kind: str) -> None:
    wanted = json.loads(Path(__file__).with_name("language_model_tokens.json").read_text())[kind]
    assert len(wanted) == 200
    assert list(made(kind).generate(PROMPT, max_tokens=200)) == wanted


@pytest.mark.sweep(5)
@pytest.mark.parametrize("device", ["numpy", *FOUND])
def test_every_device_gives_the_tokens_of_gpt(device: str) -> None:
    wanted = json.loads(Path(__file__).with_name("language_model_tokens.json").read_text())["gpt2"]
    assert list(made("gpt2", device).generate(PROMPT, max_tokens=2)) == wanted[:2]
    # the same kernels for more memory: weights, cache, and little more
    large = GPT({**GPT_CONFIG, "n_embd": 128, "vocab_size": 40000}, device)
    needs = tfr.nn.estimate_memory(large, context=len(PROMPT) + 2)
    tfr.compute(*large.state_dict().values())
    tfr.memory.trim()
    tfr.memory.reset_peak(device)
    assert len(list(large.generate(PROMPT, max_tokens=2))) == 2
    assert needs.total > 20 * MIB
    if device != "numpy":
        most = tfr.memory.stats()[device].peak
        assert needs.total <= most <= 1.05 * needs.total + 2 * MIB


def test_a_window_takes_a_ring_of_memory_and_gives_the_same_tokens() -> None:
    config = {**CONFIGS["mistral"], "max_position_embeddings": 1500, "sliding_window": 200}
    model = Llama(config)
    weights = llama_weights("mistral")
    model.load_state_dict({name: tfr.asarray(part) for name, part in weights.items()})
    small, large = model.new_cache(2, 1500, block=57), model.new_cache(2, 200)
    assert small.keys[0].shape[1] == 256
    assert large.keys[0].shape[1] == 200
    assert "window of 256 positions" in repr(small)
    ids = np.random.default_rng(2).integers(0, 61, (2, 700)).astype(np.int32)
    whole = model(tfr.asarray(ids)).numpy()
    for begin in range(0, 700, 50):
        end = begin + 50
        offsets = tfr.asarray(np.array(small.lengths, np.int32))
        part = model(tfr.asarray(ids[:, begin:end]), small, offsets, small.reach(50)).numpy()
        scale = np.abs(whole).max()
        np.testing.assert_allclose(part, whole[:, begin:end], rtol=1e-5, atol=1e-5 * scale)
        small.advance([50, 50])
    with pytest.raises(OutOfRangeError, match="blocks of 57 positions, and a step adds 58"):
        small.reach(58)


def test_rings_of_prompts_of_unequal_lengths() -> None:
    config = {**CONFIGS["mistral"], "max_position_embeddings": 1500, "sliding_window": 200}
    model = Llama(config)
    weights = llama_weights("mistral")
    model.load_state_dict({name: tfr.asarray(part) for name, part in weights.items()})
    generator = np.random.default_rng(3)
    prompts = [generator.integers(0, 61, length).tolist() for length in (400, 30, 255)]
    options = {"max_tokens": 4, "block": 57}
    together = list(model.generate(prompts, **options))
    for number, prompt in enumerate(prompts):
        ids = list(prompt)
        for tokens in together:
            wanted = int(model(tfr.asarray([ids])).numpy()[0, -1].argmax())
            assert tokens[number] == wanted
            ids.append(wanted)


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_gpt_comes_from_folders(prefix: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(GPT_CONFIG))
    weights = {f"{prefix}{name}": part for name, part in gpt_weights().items()}
    # as older files have it
    weights[f"{prefix}h.0.attn.bias"] = np.ones((1, 1, 8, 8), np.float32)
    weights["lm_head.weight"] = weights[f"{prefix}wte.weight"]
    tfr.save(tmp_path / "model.safetensors", weights)
    model, ids = GPT.from_folder(tmp_path), tfr.asarray([[1, 2, 3]])
    np.testing.assert_array_equal(model(ids).numpy(), made("gpt2")(ids).numpy())
    del weights[f"{prefix}h.1.mlp.c_fc.weight"]
    tfr.save(tmp_path / "model.safetensors", weights)
    with pytest.raises(ArgumentError, match=r"missing:\s+h.1.mlp.c_fc.weight"):
        GPT.from_folder(tmp_path)


def test_gpt_is_quantised_along_its_inputs() -> None:
    sizes = {**GPT_CONFIG, "n_embd": 64}
    model = GPT(sizes, key=tfr.random.key(0))
    needs = tfr.nn.estimate_memory(model, context=100, bits=8)
    weight = model.h[0].attn.c_attn.weight.numpy()
    ids = tfr.asarray([[1, 2, 3]])
    before = model(ids).numpy()
    report = tfr.nn.quantize(model, bits=8)
    assert report.bytes_after == needs.weights
    assert report.left_out == {}
    matrix = model.h[0].attn.c_attn.weight
    assert matrix.shape == (192, 64)
    np.testing.assert_allclose(matrix.dequantize().numpy(), weight.T, atol=1e-3)
    assert model.lm_head.weight is model.wte.weight
    assert np.corrcoef(before.ravel(), model(ids).numpy().ravel())[0, 1] > 0.999
    assert len(list(model.generate([1], max_tokens=3))) == 3


# Memory.

LARGE = {
    "model_type": "llama",
    "vocab_size": 4000,
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 3,
    "num_attention_heads": 12,
    "num_key_value_heads": 4,
    "max_position_embeddings": 64,
}
SMALL = {**LARGE, "vocab_size": 64, "num_hidden_layers": 1}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of 140 MB and of 5 MB, in float32 and in 8 bits."""
    place = tmp_path_factory.mktemp("models")
    for end, sizes in (("", LARGE), ("-small", SMALL)):
        generator = np.random.default_rng(0)
        state = {
            name: generator.standard_normal(tensor.shape, np.float32) * np.float32(0.02)
            for name, tensor in Llama(sizes).state_dict().items()
        }
        write_gguf(place / f"q8{end}.gguf", state, sizes, quantized=True)
        folder = place / f"f32{end}"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(sizes))
        tfr.save(
            folder / "model.safetensors",
            {name: tfr.asarray(part) for name, part in state.items()},
        )
    return place


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux says of a process")
@pytest.mark.parametrize("name", ["f32", "q8.gguf"])
def test_generating_takes_weights_and_cache_and_little_more(name: str, files: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.nn.generating_process", str(files / name)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["needs"] > 30 * MIB
    assert found["grown"] <= 1.05 * found["needs"] + 64 * MIB, found


# Encoders.


def bert_weights() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = {name: part.shape for name, part in BertEncoder(BERT_CONFIG).state_dict().items()}
    return {
        name: (generator.standard_normal(shape) * 0.2 + ("Norm.weight" in name)).astype(np.float32)
        for name, shape in shapes.items()
    }


def bert(ids: np.ndarray, mask: np.ndarray, segments: np.ndarray) -> np.ndarray:
    """The vectors of word pieces, in float64, straight from the paper."""
    w = {name: part.astype(np.float64) for name, part in bert_weights().items()}
    erf = np.vectorize(__import__("math").erf)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        result: np.ndarray = normal * w[f"{name}.weight"] + w[f"{name}.bias"]
        return result

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        result: np.ndarray = x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
        return result

    tables = [w[f"embeddings.{name}_embeddings.weight"] for name in ("word", "token_type")]
    positions = w["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = norm(tables[0][ids] + positions + tables[1][segments], "embeddings.LayerNorm")
    heads = BERT_CONFIG["num_attention_heads"]
    for number in range(BERT_CONFIG["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        parts = [linear(x, f"{layer}.attention.self.{name}") for name in ("query", "key", "value")]
        q, k, v = (part.reshape(*ids.shape, heads, -1).transpose(0, 2, 1, 3) for part in parts)
        scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        scores = np.where(mask[:, None, None], scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True)) @ v
        mixed = mixed.transpose(0, 2, 1, 3).reshape(x.shape)
        output = f"{layer}.attention.output"
        x = norm(linear(mixed, f"{output}.dense") + x, f"{output}.LayerNorm")
        wide = linear(x, f"{layer}.intermediate.dense")
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        x = norm(linear(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    return x


@pytest.mark.parametrize("device", ["cpu", "numpy", *FOUND])
def test_encoders_give_what_the_paper_says(device: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(BERT_CONFIG))
    weights = {f"bert.{name}": part for name, part in bert_weights().items()}
    weights["bert.pooler.dense.weight"] = np.ones((32, 32), np.float32)
    tfr.save(tmp_path / "model.safetensors", weights)
    generator = np.random.default_rng(1)
    ids = generator.integers(0, 40, (2, 7)).astype(np.int32)
    segments = np.array([[0] * 4 + [1] * 3, [0] * 7], np.int32)
    mask = np.array([[True] * 7, [True] * 5 + [False] * 2])
    expected = bert(ids, mask, segments)
    with tfr.use_backend(device):
        model = BertEncoder.from_folder(tmp_path)
        given = [tfr.asarray(part) for part in (ids, mask, segments)]
        found = model(*given).numpy()
        np.testing.assert_allclose(found[mask], expected[mask], rtol=1e-4, atol=1e-4)
        single = bert(ids, mask, 0 * segments)
        means = np.stack([single[0].mean(0), single[1, :5].mean(0)])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        np.testing.assert_allclose(model.vectors(*given[:2]).numpy(), means, atol=1e-5)
        numbers = tfr.asarray(mask.astype(np.int32))
        np.testing.assert_allclose(model.vectors(given[0], numbers).numpy(), means, atol=1e-5)


# Bad input.


def test_bad_configurations_are_said() -> None:
    def fails(make: Any, config: dict[str, Any], match: str) -> None:
        with pytest.raises(ArgumentError, match=match):
            make(config)

    fails(GPT, {**GPT_CONFIG, "n_head": 5}, "48 features are not made of 5 heads")
    fails(GPT, {**GPT_CONFIG, "model_type": "bloom"}, "the architecture is 'bloom'")
    fails(GPT, {**GPT_CONFIG, "activation_function": "swish9"}, "the activation is 'swish9'")
    fails(GPT, {**GPT_CONFIG, "n_layer": 0}, "n_layer is a positive integer, got 0")
    fails(GPT, {"n_embd": 3}, "lacks vocab_size, n_positions, n_layer, n_head")
    fails(BertEncoder, {**BERT_CONFIG, "num_attention_heads": 5}, "not made of 5 heads")
    fails(BertEncoder, {**BERT_CONFIG, "model_type": "gpt2"}, "the architecture is 'gpt2'")
    fails(BertEncoder, {**BERT_CONFIG, "hidden_act": "tan"}, "the activation is 'tan'")
    fails(BertEncoder, {**BERT_CONFIG, "vocab_size": True}, "vocab_size is a positive integer")
    fails(BertEncoder, {}, "lacks vocab_size, hidden_size")
    fails(Llama, {**CONFIGS["mistral"], "sliding_window": -1}, "sliding_window is a positive")


def test_bad_texts_are_said() -> None:
    model = BertEncoder(BERT_CONFIG)
    with pytest.raises(ShapeError, match=r"\(batch, length\), got \(3,\)"):
        model(tfr.asarray([1, 2, 3]))
    with pytest.raises(DTypeError, match="word pieces are integers, got float32"):
        model(tfr.ones((1, 3)))
    with pytest.raises(OutOfRangeError, match="up to 20 pieces, and one has 21"):
        model(tfr.ones((1, 21), dtype=tfr.int32))
    with pytest.raises(ShapeError, match=r"word pieces, \(1, 3\), got \(1, 2\)"):
        model.vectors(tfr.ones((1, 3), dtype=tfr.int32), tfr.ones((1, 2)))
    with pytest.raises(OutOfRangeError, match=r"2 tokens and 300 more(.|\n)*context of 300"):
        made("gpt2").generate([1, 2], max_tokens=300)
    with pytest.raises(ArgumentError, match="window is a positive integer"):
        tfr.nn.KVCache(1, 1, 1, 8, 10, window=0)


@pytest.mark.parametrize("make", [GPT, BertEncoder, Llama])
def test_bad_folders_are_said(make: Any, tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"has no config\.json"):
        make.from_folder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FileFormatError, match="is no JSON"):
        make.from_folder(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(FileFormatError, match="no mapping of sizes"):
        make.from_folder(tmp_path)
    config = {"GPT": GPT_CONFIG, "BertEncoder": BERT_CONFIG, "Llama": CONFIGS["qwen 2"]}
    (tmp_path / "config.json").write_text(json.dumps(config[make.__name__]))
    with pytest.raises(MissingFileError, match=r"model\.safetensors"):
        make.from_folder(tmp_path)
    tfr.save(tmp_path / "model.safetensors", {"other": tfr.ones(3)})
    with pytest.raises(ArgumentError, match="missing:"):
        make.from_folder(tmp_path)


def test_bad_gguf_files_are_said(tmp_path: Path) -> None:
    def written(kind: str, *, context: bool = True) -> Path:
        path = tmp_path / "model.gguf"
        writer = GGUFWriter(path, kind)
        writer.add_embedding_length(32)
        writer.add_head_count(4)
        writer.add_feed_forward_length(64)
        writer.add_block_count(1)
        writer.add_layer_norm_rms_eps(1e-5)
        if context:
            writer.add_context_length(64)
        writer.add_tensor("token_embd.weight", np.ones((40, 32), np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return path

    with pytest.raises(ArgumentError, match="the architecture is 'bloom'"):
        Llama.from_gguf(written("bloom"))
    with pytest.raises(ArgumentError, match=r"metadata lacks llama\.context_length"):
        Llama.from_gguf(written("llama", context=False))
    with pytest.raises(ArgumentError, match=r"missing:\s+model\.layers\.0\.input_layernorm"):
        Llama.from_gguf(written("llama"))
