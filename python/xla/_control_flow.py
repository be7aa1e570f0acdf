"""Conversion of Python control flow on traced values."""


def convert(function, error):
    """`function` with its control flow converted, after a trace met `error`; None if it cannot be converted."""
    return None
