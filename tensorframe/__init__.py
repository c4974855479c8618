"""One NumPy-like Tensor, recorded lazily into a graph, fused and run on whatever you have."""

import gc as _gc

_collects = _gc.isenabled()
_gc.disable()  # nothing that is made here is ever garbage, and looking for some takes a tenth of the time
try:
    from tensorframe.documentation.docstrings import complete as _complete
    from tensorframe.frontend import namespace as _namespace
    from tensorframe.frontend import on_demand as _on_demand
    from tensorframe.frontend.namespace import *  # noqa: F403 - the namespace is the package
    from tensorframe.frontend.on_demand import __dir__ as __dir__
    from tensorframe.frontend.on_demand import __getattr__ as __getattr__
    from tensorframe.notebook import attach as _attach  # noqa: F401 - gives Tensor its pictures
    from tensorframe.notebook.extension import load_ipython_extension as load_ipython_extension
    from tensorframe.notebook.visualize import visualize

    _complete(__name__, [(_name, globals()[_name]) for _name in (*_namespace.__all__, "visualize")])
finally:
    if _collects:
        if (
            not _gc.get_freeze_count()
        ):  # what is here now is old: the next look would be through all of it
            _gc.freeze()
            _gc.unfreeze()
        _gc.enable()

# what the namespace exports, and what stands above it
__all__ = [*_namespace.__all__, *_on_demand.__all__, "visualize"]  # noqa: PLE0604 - these are names

__version__ = "0.1.0"
