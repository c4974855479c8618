"""Vector math: elementary functions written once over machine ops, without branches, so that compilers vectorise them.

Each takes and gives expressions of float32 or float64; half precision computes in float32. Coefficients come from
`docs/derive`.
"""
