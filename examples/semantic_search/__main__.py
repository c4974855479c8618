"""Runs the search: `python -m examples.semantic_search`, or from anywhere by the folder's path."""

import sys
from pathlib import Path

if not __package__:
    # Run by path, Python looks for modules in this very folder: let it look in the checkout instead.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from examples.semantic_search.cli import main

sys.exit(main())
