"""The rules of batching: what each kind of op becomes when its operands have one more axis in front."""

from tensorframe.transform.batch_rules import calls, general, indexing, products, views
from tensorframe.transform.batch_rules.table import rule_of

__all__ = ["calls", "general", "indexing", "products", "rule_of", "views"]
