"""The public namespace: every name of the Array API standard, and what NumPy users reach for beside it."""

from tensorframe import dtypes
from tensorframe.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64
from tensorframe.frontend.elementwise import *  # noqa: F403
from tensorframe.frontend.tensor import Tensor
from tensorframe.graph.device import Device
