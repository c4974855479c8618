"""What is measured on the day when there is a GPU, by one command: `python -m tests.benchmarks.gpu`."""
