"""Language models: beside an implementation in NumPy, with and without a cache, generation, files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tensorframe as tfr
from tensorframe.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from tensorframe.nn import generation
from tests.backends.devices import FOUND
from tests.nn.language_model_files import write_gguf
from tests.nn.language_model_weights import GPT_CONFIG, LLAMA3, SIZES

Llama = tfr.nn.models.Llama
KINDS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "llama 3": {"model_type": "llama", "rope_theta": 500000.0, "rope_scaling": LLAMA3},
    "mistral": {"model_type": "mistral", "sliding_window": 7, "num_key_value_heads": 1},
    "qwen2": {
        "model_type": "qwen2",
        "rms_norm_eps": 1e-6,
        "use_sliding_window": False,
        "sliding_window": 5,
    },
    "qwen3": {"model_type": "qwen3", "head_dim": 16, "tie_word_embeddings": True},
}
on_every_kind = pytest.mark.parametrize("kind", KINDS)


def made(
    kind: str, device: str | None = None, layers: int = 2
) -> tuple[Any, dict[str, np.ndarray]]:
    """A model with random weights, and these."""
    model = Llama({**SIZES, **KINDS[kind], "num_hidden_layers": layers}, device)
    generator = np.random.default_rng(0)
    state = {}
    for name, tensor in model.state_dict().items():
        scale = 0.1 if "norm" in name else 0.25
        values = generator.standard_normal(tensor.shape).astype(np.float32) * scale
        state[name] = values + 1 if "norm" in name else values
    if "tie_word_embeddings" in KINDS[kind]:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(
        {name: tfr.asarray(values, device=device) for name, values in state.items()}
    )
    return model, state


def reference(ids: list[int], state: dict[str, np.ndarray], config: dict[str, Any]) -> np.ndarray:
    """The logits of one sequence, in float64, straight from the papers."""
    w = {name: values.astype(np.float64) for name, values in state.items()}
    heads, shared = config["num_attention_heads"], config["num_key_value_heads"]
    size = config.get("head_dim", config["hidden_size"] // heads)
    eps = config.get("rms_norm_eps", 1e-5)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        normal: np.ndarray = x / np.sqrt((x * x).mean(-1, keepdims=True) + eps)
        return normal * w[name + ".weight"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        product: np.ndarray = x @ w[name + ".weight"].T + w.get(name + ".bias", 0)
        return product

    frequencies = config.get("rope_theta", 10000.0) ** (-np.arange(0, size, 2) / size)
    scaling = config.get("rope_scaling")
    if scaling:
        waves = 2 * np.pi / frequencies
        context = scaling["original_max_position_embeddings"]
        smooth = (context / waves - scaling["low_freq_factor"]) / (
            scaling["high_freq_factor"] - scaling["low_freq_factor"]
        )
        middle = (1 - smooth) * frequencies / scaling["factor"] + smooth * frequencies
        low, high = context / scaling["low_freq_factor"], context / scaling["high_freq_factor"]
        frequencies = np.where(
            waves > low,
            frequencies / scaling["factor"],
            np.where(waves < high, frequencies, middle),
        )
    length = len(ids)
    angles = np.arange(length)[:, None] * frequencies

    def rotated(x: np.ndarray) -> np.ndarray:
        first, second = x[..., : size // 2], x[..., size // 2 :]
        cosine, sine = np.cos(angles)[:, None], np.sin(angles)[:, None]
        return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)

    distance = np.arange(length)[:, None] - np.arange(length)
    window = config.get("sliding_window") if config.get("use_sliding_window", True) else None
    hidden = (distance < 0) | (distance >= (window or length + 1))
    x = w["model.embed_tokens.weight"][ids]
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}."
        h = norm(x, layer + "input_layernorm")
        q, k, v = (
            linear(h, f"{layer}self_attn.{name}_proj").reshape(length, -1, size) for name in "qkv"
        )
        if config["model_type"] == "qwen3":
            q, k = norm(q, layer + "self_attn.q_norm"), norm(k, layer + "self_attn.k_norm")
        q, k = rotated(q), rotated(k)
        k, v = np.repeat(k, heads // shared, 1), np.repeat(v, heads // shared, 1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(size)
        scores[:, hidden] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        mixed = np.einsum("hqk,khd->qhd", weights, v).reshape(length, -1)
        x = x + linear(mixed, layer + "self_attn.o_proj")
        h = norm(x, layer + "post_attention_layernorm")
        gate = linear(h, layer + "mlp.gate_proj")
        x = x + linear(
            gate / (1 + np.exp(-gate)) * linear(h, layer + "mlp.up_proj"), layer + "mlp.down_proj"
        )
    return norm(x, "model.norm") @ w["lm_head.weight"].T


def greedy(
    prompt: list[int], count: int, state: dict[str, np.ndarray], config: dict[str, Any]
) -> list[int]:
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(reference(ids, state, config)[-1].argmax()))
    return ids[len(prompt) :]


@on_every_kind
def test_logits_are_those_of_the_papers(kind: str) -> None:
    model, state = made(kind)
    ids = np.random.default_rng(1).integers(0, 61, 20).tolist()
    found = model(tfr.asarray([ids])).numpy()[0]
    expected = reference(ids, state, {**SIZES, **KINDS[kind]})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["llama 3", "mistral", "qwen3"])
def test_the_same_tokens_as_an_independent_implementation(kind: str) -> None:
    model, state = made(kind)
    found = list(model.generate([5, 3, 60], max_tokens=60))
    assert found == greedy([5, 3, 60], 60, state, {**SIZES, **KINDS[kind]})


@pytest.mark.parametrize("kind", [*KINDS, "gpt2"])
def test_logits_with_a_cache_are_those_without(kind: str) -> None:
    is_gpt = kind == "gpt2"
    model = tfr.nn.models.GPT(GPT_CONFIG, key=tfr.random.key(0)) if is_gpt else made(kind)[0]
    ids = np.random.default_rng(1).integers(0, 61, (2, 30)).astype(np.int32)
    whole = model(tfr.asarray(ids)).numpy()
    cache = model.new_cache(2, 40)
    for begin, end in ((0, 11), (11, 12), (12, 30)):
        offsets = tfr.asarray(np.array(cache.lengths, np.int32))
        part = model(tfr.asarray(ids[:, begin:end]), cache, offsets, cache.reach(end - begin))
        np.testing.assert_allclose(
            part.numpy(), whole[:, begin:end], rtol=1e-5, atol=1e-5 * np.abs(whole).max()
        )
        cache.advance([end - begin] * 2)


def test_prompts_of_unequal_lengths_and_any_blocks() -> None:
    model, _ = made("llama")
    prompts = [[1, 2, 3], list(range(4, 15)), [60]]
    alone = [list(model.generate(prompt, max_tokens=8)) for prompt in prompts]
    for block in (512, 3):
        together = list(model.generate(prompts, max_tokens=8, block=block))
        assert [list(tokens) for tokens in zip(*together, strict=True)] == alone
    stop = alone[0][3]
    stopped = list(model.generate(prompts, max_tokens=8, stop=stop))
    assert [tokens[0] for tokens in stopped][:4] == [*alone[0][:3], None]
    assert list(model.generate(prompts[0], max_tokens=8, stop=[stop])) == alone[0][:3]


@pytest.mark.sweep(3)
@pytest.mark.parametrize("device", ["numpy", *FOUND])
def test_every_device_gives_the_same_tokens(device: str) -> None:
    model, state = made("llama", device, layers=1)
    found = list(model.generate([7, 8], max_tokens=2))
    config = {**SIZES, **KINDS["llama"], "num_hidden_layers": 1}
    assert found == greedy([7, 8], 2, state, config)


def test_a_step_is_recorded_once_and_written_in_place() -> None:
    model, _ = made("llama")
    run = generation._Run(model, [[1, 2, 3]], 300, 0.0, None, None, None, 512)
    tokens = run.prefill()
    for _ in range(3):
        tokens = run.step(tokens)
    places = [
        part.numpy().__array_interface__["data"][0] for part in (*run.cache.keys, *run.cache.values)
    ]
    for _ in range(40):
        tokens = run.step(tokens)
    assert run._step.cache_info().recorded == 2
    after = [
        part.numpy().__array_interface__["data"][0] for part in (*run.cache.keys, *run.cache.values)
    ]
    assert after == places
    for _ in range(300 - 46):
        tokens = run.step(tokens)
    assert run._step.cache_info().recorded == 3
    with pytest.raises(OutOfRangeError, match="room for 300 positions; 300 are taken, and 1 more"):
        run.step(tokens)


def test_samples_follow_the_probabilities() -> None:
    logits = np.log(np.array([[0.5, 0.3, 0.15, 0.05]], np.float32))
    many = tfr.asarray(np.repeat(logits, 4000, axis=0))
    key = tfr.random.key(0)

    def shares(**options: Any) -> np.ndarray:
        tokens = tfr.nn.sample(many, key=key, **options).numpy()
        return np.bincount(tokens, minlength=4) / len(tokens)

    np.testing.assert_allclose(shares(), [0.5, 0.3, 0.15, 0.05], atol=0.03)
    np.testing.assert_allclose(shares(top_k=2), [0.625, 0.375, 0, 0], atol=0.03)
    np.testing.assert_allclose(shares(top_p=0.7), [0.625, 0.375, 0, 0], atol=0.03)
    sharp = np.array([0.25, 0.09, 0.0225, 0.0025])
    np.testing.assert_allclose(shares(temperature=0.5), sharp / sharp.sum(), atol=0.03)
    assert shares(temperature=0)[0] == 1


def test_the_same_key_draws_the_same_tokens() -> None:
    model, _ = made("llama")
    options: dict[str, Any] = {"max_tokens": 12, "temperature": 2.0, "top_k": 20, "top_p": 0.9}
    first, again, other = (
        list(model.generate([1], key=tfr.random.key(seed), **options)) for seed in (3, 3, 4)
    )
    assert first == again
    assert first != other


@on_every_kind
def test_models_come_from_folders(kind: str, tmp_path) -> None:
    model, state = made(kind)
    config = {**SIZES, **KINDS[kind]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    if config.get("tie_word_embeddings"):
        del state["lm_head.weight"]
    tfr.save(tmp_path / "model.safetensors", state)
    again = Llama.from_folder(tmp_path)
    ids = tfr.asarray([[1, 2, 3]])
    np.testing.assert_array_equal(again(ids).numpy(), model(ids).numpy())


@pytest.mark.parametrize("quantized", [False, True])
def test_models_come_from_gguf_files(quantized: bool, tmp_path) -> None:
    sizes = {**SIZES, "hidden_size": 64, "intermediate_size": 96, "model_type": "llama"}
    generator = np.random.default_rng(0)
    state = {
        name: (generator.standard_normal(tensor.shape) * 0.2 + ("norm" in name)).astype(np.float32)
        for name, tensor in Llama(sizes).state_dict().items()
    }
    write_gguf(tmp_path / "m.gguf", state, sizes, quantized)
    model = Llama.from_gguf(tmp_path / "m.gguf")
    ids = [1, 2, 3, 4, 50]
    found = model(tfr.asarray([ids])).numpy()[0]
    expected = reference(ids, state, sizes)
    tolerance = 0.05 if quantized else 1e-4
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())
    if quantized:
        assert isinstance(model.lm_head.weight, tfr.quantization.QuantizedTensor)
        plain = Llama.from_gguf(tmp_path / "m.gguf", quantized=False)
        np.testing.assert_allclose(
            plain(tfr.asarray([ids])).numpy()[0], expected, atol=0.05 * np.abs(expected).max()
        )


def test_quantised_models_generate() -> None:
    sizes = {**SIZES, "hidden_size": 64, "intermediate_size": 96}
    model = Llama(sizes, key=tfr.random.key(0))
    before = model(tfr.asarray([[1, 2, 3]])).numpy()
    report = tfr.nn.quantize(model, bits=8)
    assert not [name for name in report.left_out if "norm" not in name]
    after = model(tfr.asarray([[1, 2, 3]])).numpy()
    assert np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.999
    assert len(list(model.generate([1, 2, 3], max_tokens=5))) == 5


def test_bad_input_is_said() -> None:
    def fails(match: str, **changes: Any) -> None:
        with pytest.raises(ArgumentError, match=match):
            Llama({**SIZES, **changes})

    fails("4 heads of queries cannot share 3", num_key_value_heads=3)
    fails("heads have 13", head_dim=13)
    fails("the architecture is 'bert'", model_type="bert")
    fails("vocab_size is a positive integer", vocab_size=0)
    fails("scaled by 'yarn'", rope_scaling={"rope_type": "yarn"})
    with pytest.raises(ArgumentError, match="lacks vocab_size, hidden_size"):
        Llama({})
    model = Llama(SIZES)
    with pytest.raises(
        OutOfRangeError, match=r"a prompt of 3 tokens and 298 more(.|\n)*context of 300"
    ):
        model.generate([1, 2, 3], max_tokens=298)
    with pytest.raises(ArgumentError, match="at least one token"):
        model.generate([[1], []])
    with pytest.raises(ArgumentError, match="sequence of token numbers"):
        model.generate([])
    with pytest.raises(DTypeError, match="tokens are integers, got float64"):
        model.generate(np.ones(3))
    for options in ({"temperature": -1}, {"top_k": 0}, {"top_p": 0.0}, {"max_tokens": 0}):
        with pytest.raises(ArgumentError, match=next(iter(options))):
            model.generate([1], **options)
    with pytest.raises(ShapeError, match=r"\(batch, length\), got \(3,\)"):
        model(tfr.asarray([1, 2, 3]))
    with pytest.raises(ArgumentError, match="heads is a positive integer"):
        tfr.nn.KVCache(1, 1, 0, 8, 10)
    cache = tfr.nn.KVCache(1, 1, 2, 8, 10)
    with pytest.raises(OutOfRangeError, match="room for 10 positions; 0 are taken, and 11 more"):
        cache.reach(11)
    with pytest.raises(ShapeError, match="2 counts for 1"):
        cache.advance([1, 1])


def test_memory_is_known_before_anything_is_loaded() -> None:
    model = Llama({**SIZES, "hidden_size": 64, "intermediate_size": 96})
    needs = tfr.nn.estimate_memory(model, context=100, batch=3)
    assert needs.cache == model.new_cache(3, 100).nbytes == 2 * 2 * 3 * 100 * 2 * 16 * 4
    saved = sum(tensor.node.nbytes for tensor in model.state_dict().values())
    assert needs.weights == saved + model.frequencies.node.nbytes
    assert not any(tensor.is_computed for tensor in model.state_dict().values())
    few = tfr.nn.estimate_memory(model, context=100, bits=4)
    report = tfr.nn.quantize(model, bits=4)
    assert few.weights == report.bytes_after
    assert few.total == few.weights + few.cache
    with pytest.raises(ArgumentError, match="models that generate, and Linear is none"):
        tfr.nn.estimate_memory(tfr.nn.Linear(2, 2), context=10)
    with pytest.raises(ArgumentError, match="bits is 4, 8 or None"):
        tfr.nn.estimate_memory(model, context=10, bits=3)
