"""Text statistics: frequencies, entropy, n-grams, a Caesar cipher and similar lines, with text as arrays of bytes."""

import numpy as np

TEXT = """
It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness,
it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the season of
darkness, it was the spring of hope, it was the winter of despair, we had everything before us, we had nothing
before us, we were all going direct to heaven, we were all going direct the other way.
"""


def letters(text):
    """The letters of a text as numbers from 0 to 25, and -1 for everything else."""
    codes = np.frombuffer(text.lower().encode(), dtype=np.uint8).astype(np.int64)
    is_letter = (codes >= ord("a")) & (codes <= ord("z"))
    return np.where(is_letter, codes - ord("a"), -1)


def frequencies(codes):
    """The share of each letter."""
    counts = np.bincount(codes[codes >= 0], minlength=26)
    return counts / counts.sum()


def entropy(shares):
    """Bits per letter."""
    positive = shares[shares > 0]
    return -np.sum(positive * np.log2(positive))


def pairs(codes):
    """How often each letter follows each."""
    table = np.zeros((26, 26), dtype=int)
    first, second = codes[:-1], codes[1:]
    inside = (first >= 0) & (second >= 0)
    np.add.at(table, (first[inside], second[inside]), 1)
    return table


def word_lengths(codes):
    """The lengths of all words: distances between what are no letters."""
    edges = np.flatnonzero(np.concatenate([[True], codes < 0, [True]]))
    lengths = np.diff(edges) - 1
    return lengths[lengths > 0]


def shifted(codes, by):
    """The text with every letter moved on in the alphabet."""
    return np.where(codes >= 0, (codes + by) % 26, codes)


def cracked(codes, expected):
    """The shift whose frequencies are closest to those expected."""
    shares = frequencies(codes)
    distances = np.array([np.sum((np.roll(shares, -by) - expected) ** 2) for by in range(26)])
    return int(np.argmin(distances)), distances


def similarities(lines):
    """Cosines between the letter counts of lines."""
    counts = np.stack([np.bincount(code[code >= 0], minlength=26) for code in lines]).astype(float)
    length = np.linalg.norm(counts, axis=1, keepdims=True)
    return (counts @ counts.T) / (length * length.T)


def as_text(codes):
    """The letters of numbers, and spaces."""
    return "".join(chr(ord("a") + int(code)) if code >= 0 else " " for code in codes)


def main():
    text = "\n".join([TEXT.strip()] * 600)
    codes = letters(text)
    shares = frequencies(codes)
    table = pairs(codes)
    lengths = word_lengths(codes)
    secret = shifted(codes, 11)
    shift, distances = cracked(secret, shares)
    lines = [letters(line) for line in TEXT.strip().splitlines()]
    common = np.argsort(shares, kind="stable")[::-1][:5]
    row, column = np.unravel_index(np.argmax(table), table.shape)
    values, counts = np.unique(lengths, return_counts=True)
    return {
        "shares": shares,
        "common": as_text(common),
        "entropy": entropy(shares),
        "pair": as_text([row, column]),
        "pairs": table.sum(),
        "conditional": entropy((table / table.sum()).ravel())
        - entropy(table.sum(axis=1) / table.sum()),
        "lengths": values,
        "counts": counts,
        "mean length": lengths.mean(),
        "longest": int(lengths.max()),
        "shift": shift,
        "distances": distances,
        "read": as_text(shifted(secret, -shift)[:26]),
        "alike": similarities(lines),
        "median": np.median(lengths),
    }
