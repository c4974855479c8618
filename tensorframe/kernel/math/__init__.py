"""Vector math: elementary functions written once over machine ops, without branches, so that compilers vectorise them.

Each takes and gives expressions of float32 or float64; half precision computes in float32. Coefficients come from
`docs/derive`. Importing this package registers the formulas of all its modules.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)
