"""N-body: planets around a star, by a symplectic integrator, with their energy and orbits."""

import numpy as np

G = 4 * np.pi**2  # in years, astronomical units and solar masses


def planets(asteroids):
    """Masses, positions and velocities of a star, four planets and a belt, on nearly circular orbits."""
    planetary = np.array([0.39, 0.72, 1.0, 1.52])
    belt = 2.1 + 1.2 * (np.arange(asteroids) * 0.618034 % 1.0)
    radii = np.concatenate([planetary, belt])
    masses = np.concatenate([[1.0], [1.7e-7, 2.4e-6, 3.0e-6, 3.2e-7], np.full(asteroids, 1e-13)])
    phases = np.concatenate(
        [
            np.linspace(0, 2 * np.pi, len(planetary), endpoint=False),
            2 * np.pi * (np.arange(asteroids) * 0.754878 % 1.0),
        ]
    )
    positions = np.zeros((len(masses), 3))
    positions[1:, 0] = radii * np.cos(phases)
    positions[1:, 1] = radii * np.sin(phases)
    positions[1:, 2] = 0.01 * radii * np.sin(3 * phases)
    speeds = np.sqrt(G / radii)
    velocities = np.zeros_like(positions)
    velocities[1:, 0] = -speeds * np.sin(phases)
    velocities[1:, 1] = speeds * np.cos(phases)
    # the centre of mass rests
    velocities -= np.average(velocities, axis=0, weights=masses)
    return masses, positions, velocities


def accelerations(masses, positions):
    """The pull of all bodies on each one."""
    difference = positions[np.newaxis, :, :] - positions[:, np.newaxis, :]
    squared = np.sum(difference**2, axis=-1)
    np.fill_diagonal(squared, 1.0)
    weights = G * masses[np.newaxis, :] * squared**-1.5
    np.fill_diagonal(weights, 0.0)
    return np.einsum("ij,ijk->ik", weights, difference)


def energy(masses, positions, velocities):
    """Kinetic and potential energy together."""
    kinetic = 0.5 * np.sum(masses * np.sum(velocities**2, axis=1))
    first, second = np.triu_indices(len(masses), k=1)
    apart = np.linalg.norm(positions[first] - positions[second], axis=1)
    return kinetic - np.sum(G * masses[first] * masses[second] / apart)


def angular_momentum(masses, positions, velocities):
    """The sum of mass times position cross velocity."""
    return np.sum(masses[:, None] * np.cross(positions, velocities), axis=0)


def leapfrog(masses, positions, velocities, step, count):
    """Positions after each of so many steps, and the last velocities."""
    track = np.empty((count + 1, *positions.shape))
    track[0] = positions
    pull = accelerations(masses, positions)
    for index in range(1, count + 1):
        velocities = velocities + 0.5 * step * pull
        positions = positions + step * velocities
        pull = accelerations(masses, positions)
        velocities = velocities + 0.5 * step * pull
        track[index] = positions
    return track, velocities


def periods(track, step):
    """How long each planet takes from one crossing of the axis to the next but one."""
    angles = np.unwrap(np.arctan2(track[:, 1:, 1], track[:, 1:, 0]), axis=0)
    turned = angles[-1] - angles[0]
    return 2 * np.pi * step * (len(track) - 1) / turned


def elements(positions, velocities):
    """Half the long axes and the eccentricities of orbits around the first body, from where bodies are."""
    apart, motion = positions[1:] - positions[0], velocities[1:] - velocities[0]
    distance = np.linalg.norm(apart, axis=1)
    specific = 0.5 * np.sum(motion**2, axis=1) - G / distance
    spin = np.cross(apart, motion)
    vector = np.cross(motion, spin) / G - apart / distance[:, None]
    return -G / (2 * specific), np.linalg.norm(vector, axis=1)


def gaps(axes, giant=5.2, count=24):
    """How many asteroids there are by their axes, and at the resonances of a giant planet."""
    counts, edges = np.histogram(axes, bins=count, range=(2.0, 3.4))
    resonances = giant * np.array([1 / 3, 2 / 5, 1 / 2]) ** (2 / 3)
    return counts, np.searchsorted(edges, resonances) - 1


def main():
    masses, positions, velocities = planets(200)
    before = energy(masses, positions, velocities)
    momentum = angular_momentum(masses, positions, velocities)
    step, count = 0.004, 25
    track, velocities = leapfrog(masses, positions, velocities, step, count)
    after = energy(masses, track[-1], velocities)
    distance = np.linalg.norm(track[:, 1:5] - track[:, :1], axis=-1)
    axes, eccentricities = elements(track[-1], velocities)
    counts, resonant = gaps(axes[4:])
    return {
        "energy": before,
        "drift": float(abs(after - before) / abs(before)) < 1e-3,
        "momentum": momentum,
        "kept": np.allclose(
            angular_momentum(masses, track[-1], velocities), momentum, rtol=1e-3, atol=1e-6
        ),
        "last": track[-1, ::9],
        "nearest": distance.min(axis=0),
        "farthest": distance.max(axis=0),
        "periods": periods(track[:, :5], step),
        "kepler": periods(track[:, :5], step) ** 2 / np.array([0.39, 0.72, 1.0, 1.52]) ** 3,
        "axes": axes[::7],
        "round": bool(np.all(eccentricities < 0.05)),
        "belt": counts.sum(),
        "resonant": resonant,
    }
