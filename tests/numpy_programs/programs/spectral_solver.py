"""A spectral solver: heat and Burgers' equation on a periodic line, Poisson's equation on a square."""

import numpy as np


def wave_numbers(size, length):
    """The frequencies of a transform as wave numbers."""
    return 2 * np.pi * np.fft.fftfreq(size, d=length / size)


def derivative(values, length, order=1):
    """The derivative of a periodic function, by its transform."""
    k = wave_numbers(values.shape[-1], length)
    return np.fft.ifft((1j * k) ** order * np.fft.fft(values)).real


def heat(values, length, conductivity, time):
    """The solution of the heat equation, exactly for each wave."""
    k = wave_numbers(len(values), length)
    return np.real(np.fft.ifft(np.fft.fft(values) * np.exp(-conductivity * k**2 * time)))


def burgers(values, length, viscosity, step, count):
    """Viscous Burgers' equation: the diffusion by an integrating factor, the rest by Runge and Kutta."""
    size = len(values)
    k = 2 * np.pi * np.fft.rfftfreq(size, d=length / size)
    keep = np.abs(k) < (2 / 3) * np.max(np.abs(k))
    factor = np.exp(-viscosity * k**2 * step / 2)

    def steepening(spectrum):
        real = np.fft.irfft(spectrum, n=size)
        return -0.5j * k * np.fft.rfft(real**2) * keep

    spectrum = np.fft.rfft(values)
    for _ in range(count):
        first = step * steepening(spectrum)
        second = step * steepening(factor * (spectrum + first / 2))
        third = step * steepening(factor * spectrum + second / 2)
        fourth = step * steepening(factor**2 * spectrum + factor * third)
        spectrum = (
            factor**2 * spectrum + (factor**2 * first + 2 * factor * (second + third) + fourth) / 6
        )
    return np.fft.irfft(spectrum, n=size)


def poisson(source, length):
    """The periodic function whose Laplacian is the source, with mean 0."""
    k = wave_numbers(source.shape[0], length)
    squared = k[:, None] ** 2 + k[None, :] ** 2
    squared[0, 0] = 1.0
    spectrum = -np.fft.fft2(source) / squared
    spectrum[0, 0] = 0.0
    return np.fft.ifft2(spectrum).real


def vortices(size):
    """A torus with four vortices that turn against each other."""
    x = np.linspace(0.0, 2 * np.pi, size, endpoint=False)
    xx, yy = np.meshgrid(x, x, indexing="ij")
    places = [(2.0, 2.5, 1.0), (4.2, 2.8, -1.0), (2.4, 4.4, -1.0), (4.0, 4.0, 1.0)]
    return sum(
        sign * np.exp(-4 * ((xx - right) ** 2 + (yy - down) ** 2)) for right, down, sign in places
    )


def turbulence(vorticity, viscosity, step, count):
    """The flow of an incompressible fluid in two dimensions: vorticity is carried along, and spreads."""
    size = vorticity.shape[0]
    kx = wave_numbers(size, 2 * np.pi)[:, None]
    ky = np.arange(size // 2 + 1)[None, :]
    squared = kx**2 + ky**2
    inverse = np.where(squared > 0, 1 / np.maximum(squared, 1), 0.0)
    keep = (np.abs(kx) < size / 3) & (ky < size / 3)

    def carried(spectrum):
        stream = spectrum * inverse
        right, down = np.fft.irfft2(1j * ky * stream), np.fft.irfft2(-1j * kx * stream)
        along = right * np.fft.irfft2(1j * kx * spectrum)
        across = down * np.fft.irfft2(1j * ky * spectrum)
        return -np.fft.rfft2(along + across) * keep

    spectrum, energy = np.fft.rfft2(vorticity), []
    spread = 1 / (1 + step * viscosity * squared)
    for _ in range(count):
        middle = spectrum + 0.5 * step * carried(spectrum)
        spectrum = (spectrum + step * carried(middle)) * spread
        energy.append(np.sum(np.abs(spectrum) ** 2 * inverse))
    return np.fft.irfft2(spectrum), np.array(energy)


def power_spectrum(values):
    """The share of each frequency in a signal, seen through a window."""
    window = np.hanning(len(values))
    spectrum = np.abs(np.fft.rfft(values * window)) ** 2
    return spectrum / spectrum.sum()


def main():
    length, size = 2 * np.pi, 64
    x = np.linspace(0.0, length, size, endpoint=False)
    wave = np.sin(x) + 0.5 * np.cos(3 * x)
    slope = derivative(wave, length)
    cooled = heat(wave, length, 0.1, 2.0)
    shock = burgers(np.sin(x), length, 0.05, 0.01, 100)
    xx, yy = np.meshgrid(x, x, indexing="ij")
    source = -2 * np.sin(xx) * np.sin(yy)
    potential = poisson(source, length)
    flow, energy = turbulence(vortices(192), 0.002, 0.02, 8)
    spectrum = power_spectrum(np.sin(8 * x) + 0.1 * np.sin(20 * x))
    filtered = np.fft.ifftshift(
        np.where(np.abs(np.fft.fftshift(wave_numbers(size, length))) < 2, 1, 0)
    )
    low = np.fft.ifft(np.fft.fft(wave) * filtered).real
    return {
        "flow": flow[::16, ::16],
        "slower": bool(np.all(np.diff(energy) < 0)),
        "enstrophy": np.mean(flow**2),
        "slope": slope,
        "exact slope": np.abs(slope - (np.cos(x) - 1.5 * np.sin(3 * x))).max() < 1e-3,
        "second": derivative(wave, length, order=2),
        "cooled": cooled,
        "exact": np.allclose(
            cooled, np.exp(-0.2) * np.sin(x) + 0.5 * np.exp(-1.8) * np.cos(3 * x), atol=1e-4
        ),
        "shock": shock,
        "steepest": derivative(shock, length).min(),
        "mass": np.allclose(np.trapezoid(shock, x), 0.0, atol=0.1),
        "potential": potential[::8, ::8],
        "solved": np.allclose(potential, np.sin(xx) * np.sin(yy), atol=1e-4),
        "peak": int(np.argmax(spectrum)),
        "spectrum": spectrum[:16],
        "low": low,
    }
