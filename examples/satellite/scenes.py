"""Scenes of one place, one a day, in two bands: made up when they are asked for, as an archive would fetch them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GAP = 0  # where the satellite saw nothing
CLOUD = 6000  # red light of clouds is brighter than that of any land
TILE = 16  # pixels of the coarsest pattern

Scene = np.ndarray[tuple[int, ...], np.dtype[np.uint16]]


@dataclass(frozen=True)
class Scenes:
    """One band of the stack: an object with a shape, a dtype and slices, which `tfr.from_reader` takes."""

    days: int
    side: int
    near_infrared: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """Days, rows and columns."""
        return (self.days, self.side, self.side)

    @property
    def dtype(self) -> np.dtype[np.uint16]:
        """Counts of the detector."""
        return np.dtype(np.uint16)

    @property
    def chunks(self) -> tuple[int, int, int]:
        """A day is made as a whole."""
        return (1, self.side, self.side)

    def __getitem__(self, key: tuple[slice, slice, slice]) -> Scene:
        """Return what slices of days, rows and columns show."""
        days, rows, columns = key
        scenes = [self._scene(day)[rows, columns] for day in range(*days.indices(self.days))]
        return np.stack(scenes)

    def _scene(self, day: int) -> Scene:
        """Return a day: fields that green in summer, clouds, and what the satellite missed."""
        place = np.linspace(0, 3 * np.pi, self.side, dtype=np.float32)
        fields = np.outer(1 + np.sin(place), 1 + np.cos(2 * place)) / 4
        season = 0.5 - 0.5 * np.cos(2 * np.pi * day / 365)
        light = (
            2500 + 1500 * fields * season if self.near_infrared else 2500 - 1500 * fields * season
        )
        weather = np.random.default_rng(day)  # the same for both bands
        coarse = weather.random((-(-self.side // TILE), -(-self.side // TILE)), dtype=np.float32)
        clouds = np.kron(coarse, np.ones((TILE, TILE), np.float32))[: self.side, : self.side]
        light = np.where(clouds > 0.7, 8000 + 1000 * clouds, light)
        missed = weather.integers(0, self.side)
        light[missed : missed + self.side // 20] = GAP
        return light.astype(np.uint16)
