"""How a Fourier transform is taken apart: into small transforms, and these into launches of work-groups.

Radices are the lengths of the small ones. A length with another prime factor is a convolution (Bluestein 1970) of a
length that has none.
"""

from __future__ import annotations

from math import prod

# Prime factors of lengths that are transformed as they are: larger ones cost more than a convolution.
PRIMES = (13, 11, 7, 5, 3, 2)
# Columns that a group takes of a transform in several launches at least: neighbours in memory are read together.
_NEIGHBOURS = 8


def radices_of(length: int) -> tuple[int, ...] | None:
    """Return the radices of a transform, the largest first; None if it has a prime factor that is not one of them.

    Twos go together in eights and fours, which take fewer barriers and round less often.
    """
    primes = []
    for prime in PRIMES:
        while length % prime == 0:
            primes.append(prime)
            length //= prime
    if length > 1:
        return None
    twos = primes.count(2)
    eights, rest = divmod(twos, 3)
    fours = {0: 0, 1: 2 if eights else 0, 2: 1}[rest]
    eights -= fours == 2
    single = twos - 3 * eights - 2 * fours
    powers = [8] * eights + [4] * fours + [2] * single
    odd = [radix for radix in primes if radix != 2]
    return tuple(sorted([*powers, *odd], reverse=True))


def convolution_length(length: int) -> int:
    """Return the length of the convolution that a transform is: few ones, whose kernels serve many transforms."""
    least = 2 * length - 1
    power = 1 << (least - 1).bit_length()
    return min(size for size in (power, power // 8 * 5, power // 4 * 3) if size >= least)


def launches_of(length: int, area: int) -> list[tuple[int, ...]]:
    """Return the radices of each launch of a transform; a group has memory for `area` elements."""
    radices = radices_of(length)
    assert radices is not None
    if length <= area:
        return [radices]
    count = 2
    while True:
        launches: list[list[int]] = [[] for _ in range(count)]
        for radix in radices:
            min(launches, key=prod).append(radix)
        if max(map(prod, launches)) <= area // _NEIGHBOURS:
            return [tuple(launch) for launch in launches]
        count += 1
