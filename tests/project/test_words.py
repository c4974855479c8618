"""The words of code and prose are the field's: names that say nothing, phrases of a private dialect, and one spelling.

`python -m tests.project.words` prints what is left of each, with its place.
"""

import pytest

from tests.project import words


@pytest.mark.parametrize("name", sorted(words.EMPTY_NAMES))
def test_names_say_what_they_stand_for(name):
    assert list(words.stored_names(name)) == []


@pytest.mark.parametrize("phrase", sorted(words.PHRASES))
def test_sentences_are_the_fields(phrase):
    assert list(words.places_of(words.PHRASES[phrase])) == []


def test_retired_names_do_not_come_back():
    assert list(words.retired_names()) == []


def test_spelling_is_british():
    assert list(words.american_spellings()) == []


def test_nothing_is_misspelt():
    assert words.misspelt() == ""
