"""How green a place is, compared with its mean over the year, from files that do not fit into memory.

`python -m examples.satellite --size "20 GB" --limit "1 GiB"`.
"""

from __future__ import annotations

from pathlib import Path

import tensorframe as tfr
from examples.satellite.scenes import CLOUD, GAP, Scenes

BANDS = ("red", "near_infrared")


def write_stack(folder: Path, days: int, side: int) -> None:
    """Write both bands, day by day: what is made up goes to the disk, and leaves memory."""
    for band in BANDS:
        scenes = Scenes(days, side, near_infrared=band == "near_infrared")
        tfr.save(folder / f"{band}.npy", tfr.from_reader(scenes))


def greenness(red: tfr.Tensor, near_infrared: tfr.Tensor) -> tfr.Tensor:
    """The vegetation index (near infrared - red) / (near infrared + red); NaN under clouds and in gaps."""
    seen = (red != GAP) & (red < CLOUD)
    red, near_infrared = red.astype(tfr.float32), near_infrared.astype(tfr.float32)
    return tfr.where(seen, (near_infrared - red) / (near_infrared + red), tfr.nan)


def anomalies(folder: Path) -> dict[str, tfr.Tensor]:
    """What is greener or browner than the mean of its place, that mean, and how often the place was seen."""
    green = greenness(*(tfr.load(folder / f"{band}.npy") for band in BANDS))
    mean = tfr.nanmean(green, axis=0)
    seen = tfr.sum(~tfr.isnan(green), axis=0, dtype=tfr.int32)
    return {"anomaly": green - mean, "mean": mean, "seen": seen}


def run(folder: Path, days: int, side: int) -> None:
    """Write a stack, and save what is found in it: one file, computed tile by tile."""
    write_stack(folder, days, side)
    tfr.save(folder / "greenness.safetensors", anomalies(folder))
