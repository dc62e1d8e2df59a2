"""Cross entropy in one pass over the logits: a native op of tensorlike."""

from pathlib import Path

import tensorlike as tl

_HERE = Path(__file__).parent
_ops = tl.declare(_HERE / "ops.yaml", library=_HERE / "kernels.so")

fused_cross_entropy = _ops.fused_cross_entropy

__all__ = ["fused_cross_entropy"]
