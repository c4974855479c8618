"""Notebooks that teach tensorframe, kept with their outputs: `python -m examples.notebooks` runs and checks them all.

`execution` runs a notebook in a kernel of its own, `tidy` makes what is kept small and equal from run to run,
`comparison` says in what two runs differ, and the command line does this with every notebook beside it.
"""
