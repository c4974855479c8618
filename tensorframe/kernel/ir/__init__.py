"""The kernel IR: its language, which the folder's name stands for elsewhere, tools for it, and what it means."""

from tensorframe.kernel.ir.language import *  # noqa: F403
