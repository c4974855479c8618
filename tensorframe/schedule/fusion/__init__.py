"""Operator fusion: nodes become groups that grow, merge and join the steps of products, with a reason wherever not."""
