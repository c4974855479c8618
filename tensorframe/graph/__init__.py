"""The recorded graph: immutable nodes, op rows, shapes, devices."""
