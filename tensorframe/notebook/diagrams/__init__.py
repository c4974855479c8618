"""Diagrams: graphs and plans as boxes and wires, where these stand, and the SVG that they become.

`recorded` and `planned` make a `diagram`; `layout` arranges it by `layers`, `coordinates`, `placing` and `columns`,
with the sizes of `measures`; `drawing` draws it with `shapes` and `strokes`, and `exports` takes it to other programs.
"""
