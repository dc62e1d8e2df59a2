"""Weights in the files that others write, read without running code, and put into our layers."""

from __future__ import annotations

from .entries import Weights
from .layers import Loaded, load_weights, save_weights
from .reading import read_weights

__all__ = ["Loaded", "Weights", "load_weights", "read_weights", "save_weights"]
