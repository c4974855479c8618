"""The thorough form of test_products: `python -m tests.sparse.sweep 500 cpu opencl`, 500 on the cpu if not said."""

import sys

from tests.sparse.matrices import compare, random_case
from tests.sparse.test_products import EVERYWHERE, HOSTS


def main(count: int = 500, *devices: str) -> None:
    """Compare so many random matrices with SciPy on each device."""
    for device in devices or ("cpu",):
        for seed in range(count):
            compare(random_case(seed) if device in HOSTS else random_case(seed, EVERYWHERE), device)
        sys.stdout.write(f"{count} random matrices on {device}: as SciPy's\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:])
