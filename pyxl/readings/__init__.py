"""The readings of a quantity: number, sweep, formula, words, unit, derivative.

One module each, and each is a table from operation to rule, checked for completeness at import.
"""
