"""Measuring the machine at hand: one more source of the records that `hardware_logs` reads from logs.

measuring     which shapes and sizes, into a log
collectives   the same between the ranks that a launcher started
launcher      which rank this is
torch_arrays, numpy_arrays  what is timed, in PyTorch or else in numpy
sampling      warm-up, repeats, median and spread
machine       name, caches, free memory, clock and power
"""
