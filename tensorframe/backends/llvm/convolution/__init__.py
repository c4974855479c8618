"""Convolutions by indirect products: windows are where a table says, so none is copied.

`choice` has the way that takes the least time. Vectors of channels (`channels`): rows of the product are windows, the
kernel is turned so that channels of the result are next to each other, and the result is turned back; a gradient by a
small kernel is a few sums of such (`sums`). Vectors of positions (`positions`): rows are channels of the result, and
vectors neighbours in the input; it takes the kernel as it lies, and serves where channels are few. Sums along rows of
images (`dots`): gradients by kernels of few channels.

What blocks do (`ways`) is recorded (`script`), and threads repeat it without the interpreter.
"""
