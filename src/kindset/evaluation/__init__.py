"""Validity indices, external measures and adaptive evaluation of clusterings."""
