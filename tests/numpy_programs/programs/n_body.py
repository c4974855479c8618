"""N-body: planets around a star, by a symplectic integrator, with their energy and orbits."""

import numpy as np

G = 4 * np.pi**2  # in years, astronomical units and solar masses


def planets():
    """Masses, positions and velocities of a star and four planets on nearly circular orbits."""
    radii = np.array([0.39, 0.72, 1.0, 1.52])
    masses = np.concatenate([[1.0], [1.7e-7, 2.4e-6, 3.0e-6, 3.2e-7]])
    phases = np.linspace(0, 2 * np.pi, len(radii), endpoint=False)
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


def main():
    masses, positions, velocities = planets()
    before = energy(masses, positions, velocities)
    momentum = angular_momentum(masses, positions, velocities)
    step, count = 0.002, 150
    track, velocities = leapfrog(masses, positions, velocities, step, count)
    after = energy(masses, track[-1], velocities)
    distance = np.linalg.norm(track[:, 1:] - track[:, :1], axis=-1)
    return {
        "energy": before,
        "drift": float(abs(after - before) / abs(before)) < 1e-3,
        "momentum": momentum,
        "kept": np.allclose(
            angular_momentum(masses, track[-1], velocities), momentum, rtol=1e-3, atol=1e-6
        ),
        "last": track[-1],
        "nearest": distance.min(axis=0),
        "farthest": distance.max(axis=0),
        "periods": periods(track, step),
        "kepler": periods(track, step) ** 2 / np.array([0.39, 0.72, 1.0, 1.52]) ** 3,
    }
