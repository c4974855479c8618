"""The chat example: a model that learns characters, quantised, and a folder of files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import tensorframe as tfr
from examples.chat.__main__ import main
from examples.chat.characters import loss, trained


def test_a_model_learns_and_hardly_loses_by_quantisation() -> None:
    model, text, losses = trained(60, layers=1, width=64)
    assert losses[0] > 0.8 * math.log(len(text.alphabet))
    assert losses[-1] < 0.8 * losses[0]
    windows = tfr.asarray(text.numbers[: 8 * 65].reshape(8, 65))
    before = loss(model, windows).item()
    said = list(model.generate(text.encode("The ").tolist(), max_tokens=20))
    assert len(text.decode(said)) == 20
    report = tfr.nn.quantize(model, bits=4)
    assert report.bytes_after < report.bytes_before / 5
    assert abs(loss(model, windows).item() - before) < 0.1
    assert len(list(model.generate(text.encode("The ").tolist(), max_tokens=20))) == 20


def test_the_program_takes_a_folder_of_files(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, **{f"w{number}": number for number in range(1, 40)}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = {
        "model_type": "llama",
        "vocab_size": 40,
        "hidden_size": 64,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "max_position_embeddings": 64,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    model = tfr.nn.models.Llama(config, key=tfr.random.key(0))
    state = {name: np.asarray(tensor) for name, tensor in model.state_dict().items()}
    tfr.save(tmp_path / "model.safetensors", state)
    main(["--model", str(tmp_path), "--prompt", "w3 w5", "--tokens", "6", "--bits", "8"])
    printed = capsys.readouterr().out
    assert "weights quantised" in printed
    assert "8 bits:" in printed
    assert "w3 w5" in printed
