"""The examples of training learn what they are meant to, the same in every run."""

import re

import numpy as np
import pytest

import tensorframe as tfr
from examples.semantic_search.wheel import MissingModelError, model_folder
from examples.training import character_gpt, digits, encoder_head
from tensorframe.nn.models import BertEncoder

SMALL = character_gpt.Size(layers=2, heads=2, width=32, context=32, batch=8, steps=60, rate=1e-2)


def trained_digits(epochs, count=None):
    tfr.random.seed(0)
    known, held_out = digits.data()
    if count is not None:
        known = digits.Digits(*[part[:count] for part in known])
    model = digits.Network(tfr.random.key(0))
    return digits.train(model, known, epochs), model, held_out


def test_digits_that_were_held_out_are_read():
    history, model, held_out = trained_digits(epochs=8)
    assert history[-1] < 0.1 * history[0]
    assert digits.right(model.eval(), held_out).item() > 0.98


def test_the_same_run_gives_the_same_bits():
    first, second = (trained_digits(epochs=1, count=320)[:2] for _ in range(2))
    assert first[0] == second[0]
    for (name, one), (_, two) in zip(
        first[1].state_dict().items(), second[1].state_dict().items(), strict=True
    ):
        np.testing.assert_array_equal(one.numpy(), two.numpy(), err_msg=name)


def test_the_programs_show_what_is_learned(capsys, monkeypatch):
    digits.main(["--epochs", "1"])
    shown = capsys.readouterr().out
    assert "conv1: Conv2d(1, 32, kernel_size=3, padding=1)" in shown
    assert re.search(r"^[\d.]+% of 360 digits that it never saw are read$", shown, re.MULTILINE)
    character_gpt.main(["--steps", "3", "--layers", "1"])
    shown = capsys.readouterr().out
    assert re.search(r"^loss, from 4\.\d\d to \d\.\d\d in 3 steps$", shown, re.MULTILINE)
    assert "The for statement" in shown
    monkeypatch.setattr(encoder_head, "embedded", lambda *_: 2 * (random_sentences(),))
    assert encoder_head.main(["--steps", "2"]) == 0
    shown = capsys.readouterr().out
    assert "22,565,376 of them frozen" in shown
    assert re.search(r"^of 20 sentences that it never saw the head tells", shown, re.MULTILINE)


def random_sentences():
    random = np.random.default_rng(0)
    vectors = random.standard_normal((20, 384)).astype(np.float32)
    modules = random.integers(0, 6, 20).astype(np.int32)
    return encoder_head.Sentences(tfr.asarray(vectors), tfr.asarray(modules))


def test_a_missing_model_says_what_to_install(monkeypatch, capsys):
    def absent():
        raise MissingModelError("install it")

    monkeypatch.setattr(encoder_head, "model_folder", absent)
    assert encoder_head.main([]) == 1
    assert capsys.readouterr().err == "install it\n"


@pytest.fixture(scope="module")
def reference():
    return character_gpt.reference()


def test_the_language_model_learns_and_writes(reference):
    tfr.random.seed(0)
    model = character_gpt.GPT(len(reference.alphabet), SMALL)
    assert model.scores.weight is model.letters.weight
    losses = character_gpt.train(model, reference, SMALL)
    # what knows nothing is surprised by the logarithm of the number of letters
    assert abs(losses[0] - np.log(len(reference.alphabet))) < 0.2
    assert np.mean(losses[-10:]) < 3.3
    assert model.scores.weight is model.letters.weight
    text = character_gpt.written(model, reference, "The for", 12)
    assert text.startswith("The for")
    assert len(text) == 7 + 12
    assert character_gpt.written(model, reference, "The for", 12) == text
    assert len(character_gpt.curve(losses).splitlines()) == 10


def test_each_character_is_predicted_from_those_before_it_alone(reference):
    tfr.random.seed(0)
    model = character_gpt.GPT(len(reference.alphabet), SMALL)
    numbers = reference.numbers[None, :16].copy()
    before = model(tfr.asarray(numbers)).numpy()
    numbers[0, 9] += 1
    after = model(tfr.asarray(numbers)).numpy()
    np.testing.assert_allclose(after[:, :9], before[:, :9], rtol=1e-5, atol=1e-6)
    assert (after[:, 9:] != before[:, 9:]).any(axis=-1).all()


def test_updates_are_part_of_the_products_that_make_gradients(reference):
    tfr.random.seed(0)
    model = character_gpt.GPT(len(reference.alphabet), SMALL)
    optimizer = tfr.optim.AdamW(1e-3)
    optimizer.init(model)
    windows = next(character_gpt.windows_of(reference, SMALL))
    plan = str(character_gpt.step.explain(model, optimizer, windows))
    updates = [
        line
        for line in plan.splitlines()
        if "library call, forward and backward, on cpu: matmul" in line and "exp_avg" in line
    ]
    matrices = [p for _, p in model.named_parameters() if p.ndim == 2]
    # that of positions is a sum, not a product
    assert len(updates) == len(matrices) - 1


def test_a_step_of_the_language_model_has_few_kernels_beside_its_matmuls(reference):
    size = character_gpt.Size()
    model = character_gpt.GPT(len(reference.alphabet), size)
    optimizer = tfr.optim.AdamW(1e-3)
    optimizer.init(model)
    windows = next(character_gpt.windows_of(reference, size))
    assert character_gpt.step.explain(model, optimizer, windows).kernels <= 60


@pytest.fixture(scope="module")
def encoder():
    return BertEncoder.from_folder(model_folder())


def test_the_head_learns_and_the_encoder_stays(encoder):
    known, held_out = encoder_head.embedded(encoder, model_folder())
    head = encoder_head.Head(384, len(encoder_head.MODULES), tfr.random.key(0))
    model = encoder_head.Model(encoder, head)
    assert [name for name, _ in model.named_parameters(trainable=True)] == [
        "head.hidden.weight",
        "head.hidden.bias",
        "head.scores.weight",
        "head.scores.bias",
    ]
    before = encoder_head.right(head, held_out)
    losses = encoder_head.train(head, known, steps=150)
    assert losses[-1] < 0.5 * losses[0]
    assert before < 0.5
    assert encoder_head.right(head, held_out) > 0.9
