"""Conway's Life: gliders, oscillators and a census, on a torus."""

import numpy as np

GLIDER = """
.#.
..#
###
"""
PULSAR_ROW = "..###...###.."


def parsed(text):
    """A pattern of marks as cells."""
    lines = text.strip().splitlines()
    return np.array([[mark == "#" for mark in line] for line in lines])


def pulsar():
    """The oscillator of period three, by its symmetry."""
    row = np.array([mark == "#" for mark in PULSAR_ROW])
    cells = np.zeros((13, 13), dtype=bool)
    for line in (0, 5, 7, 12):
        cells[line] |= row
    return cells | cells.T


def placed(shape, patterns):
    """A torus with patterns at places."""
    world = np.zeros(shape, dtype=bool)
    for (row, column), pattern in patterns:
        height, width = pattern.shape
        world[row : row + height, column : column + width] |= pattern
    return world


def neighbours(world):
    """How many of the eight cells around each one live."""
    count = np.zeros(world.shape, dtype=np.int64)
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down or right:
                count += np.roll(world, (down, right), axis=(0, 1))
    return count


def step(world):
    """The next generation."""
    count = neighbours(world)
    return (count == 3) | (world & (count == 2))


def run(world, generations):
    """All generations, one after the other."""
    history = [world]
    for _ in range(generations):
        history.append(step(history[-1]))
    return np.stack(history)


def period(history):
    """After how many generations the first one is there again; 0 if it is not."""
    same = np.all(history[1:] == history[0], axis=(1, 2))
    return int(np.argmax(same)) + 1 if np.any(same) else 0


def bounding_box(world):
    """The first and last row and column with a living cell."""
    rows = np.flatnonzero(world.any(axis=1))
    columns = np.flatnonzero(world.any(axis=0))
    return [int(rows[0]), int(rows[-1]), int(columns[0]), int(columns[-1])]


def census(history):
    """Living cells in each generation, and those that were born and died."""
    alive = history.sum(axis=(1, 2))
    born = (history[1:] & ~history[:-1]).sum(axis=(1, 2))
    died = (~history[1:] & history[:-1]).sum(axis=(1, 2))
    return alive, born, died


def packed(world):
    """The cells as bytes, and back."""
    data = np.packbits(world, axis=1)
    back = np.unpackbits(data, axis=1, count=world.shape[1]).astype(bool)
    return data, bool(np.array_equal(back, world))


def soup(size):
    """A torus full of cells that no pattern orders, the same ones for every library."""
    rows, columns = np.indices((size, size))
    return (rows * 7919 + columns * 104729 + (rows * columns) % 8191) % 11 < 4


def main():
    glider = parsed(GLIDER)
    boiling = run(soup(640), 20)
    flying = run(placed((16, 16), [((1, 1), glider)]), 8)
    swinging = run(placed((17, 17), [((2, 2), pulsar())]), 6)
    mixed = run(
        placed((24, 30), [((1, 1), glider), ((8, 12), pulsar()), ((2, 20), np.fliplr(glider))]), 20
    )
    alive, born, died = census(mixed)
    data, same = packed(mixed[-1])
    return {
        "glider": flying[4].astype(int),
        "moved": bool(np.array_equal(np.roll(flying[0], (1, 1), (0, 1)), flying[4])),
        "box": bounding_box(flying[8]),
        "pulsar": period(swinging),
        "alive": alive,
        "balance": bool(np.array_equal(np.diff(alive), born - died)),
        "died": np.cumsum(died),
        "last": mixed[-1],
        "packed": data,
        "same": same,
        "density": mixed.mean(axis=(1, 2)),
        "ages": mixed.sum(axis=0).max(),
        "boiling": census(boiling)[0],
        "settled": np.count_nonzero(boiling[-1] & boiling[-3]),
    }
