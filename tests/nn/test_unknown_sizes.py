"""Layers, losses and calls of networks, recorded with an unknown batch and run with several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.network_call import NetworkCall
from support.network_calls import CALLS
from support.unknown_sizes import gradients, refusals

import tensorlike as tl
from tensorlike import nn

from .test_pytorch_layers import TWINS, Twin
