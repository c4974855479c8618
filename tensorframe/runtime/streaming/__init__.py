"""Streaming: graphs that do not fit into memory run tile by tile (out-of-core execution)."""
