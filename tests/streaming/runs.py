"""Runs of the same program in memory and in tiles, whose bits are compared."""

import numpy as np

import tensorframe as tfr
from tensorframe.runtime.evaluate import evaluate
from tensorframe.runtime.streaming.assembled import Assembled
from tensorframe.runtime.streaming.planning import adds_in_order, find_wholes, planned_stream
from tensorframe.runtime.streaming.tiled_execution import Stream
from tensorframe.runtime.streaming.tiles import is_file
from tensorframe.schedule.capture import capture
from tensorframe.schedule.cut import Obstacle, candidates, find_cut
from tensorframe.schedule.pipeline import transform


def tensors_of(made):
    return list(made) if isinstance(made, tuple | list) else [made]


def core_of(tensors):
    """The core graph of tensors, of its own, which no run settles."""
    request = capture([tensor.node for tensor in tensors], keep_held=False)
    return transform(request.snapshot())


def in_memory(tensors):
    """The bytes of the results of one plan."""
    evaluate([tensor.node for tensor in tensors])
    return [tensor.numpy().tobytes() for tensor in tensors]


def cut_of(roots, small=1000):
    """The first cut that there is, or all obstacles."""
    obstacles = []
    for leaf, axis in candidates(roots, is_file):
        cut = find_cut(roots, leaf, axis, ordered=adds_in_order, small=small)
        if not isinstance(cut, Obstacle):
            return cut
        obstacles.append(cut)
    return obstacles


def stream_of(roots, tiles=7):
    """A stream of about so many tiles."""
    cut = cut_of(roots)
    assert not isinstance(cut, list), cut
    rows = max(cut.places // tiles // cut.grain, 1) * cut.grain
    return Stream(cut, rows, find_wholes(cut, rows))


def in_tiles(tensors, tiles=7):
    """The bytes of the results of a stream, and that stream; None where its tiles would add in another order."""
    roots = core_of(tensors)
    stream = stream_of(roots, tiles)
    if isinstance(planned_stream(stream, []), Obstacle):
        return None, stream
    sinks = {root: Assembled(root) for root in roots}
    stream.run(sinks)
    return [sinks[root].array.tobytes() for root in roots], stream


def saved(folder, name, array):
    path = folder / f"{name}.npy"
    np.save(path, array)
    return tfr.load(path)
