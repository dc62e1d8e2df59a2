"""A network learns handwritten digits; then other tensor-likes give it other meanings.

1. A new activation is declared at run time: its kernel and its gradient are derived.
2. A network that uses it is trained on the 1797 digits that come with scikit-learn.
3. The same network lists its ops on a symbolic tensor-like, and is priced by one written below.
4. The weights are saved and loaded; the predictions are the same.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from sklearn.datasets import load_digits
from tqdm import tqdm

import tensorlike as tl
import tensorlike.functional as F

SEED = 0
BATCH = 64
WANTED_ACCURACY = 0.97
Log = list[tuple[tl.ops.OpBase, int]]  # what was applied, and its floating-point operations

squareplus = tl.declare("""
- scalar: squareplus
  args: [x: real floating-point]
  expr: 0.5 * (x + sqrt(x * x + 4))
  doc: A smooth relu.
  see: https://arxiv.org/abs/2112.11687
""").squareplus


def make_network() -> tl.nn.Sequential:
    """64 pixels, 128 hidden units, 10 digits."""
    hidden, readout = tl.nn.Linear(64, 128, seed=SEED), tl.nn.Linear(128, 10, seed=SEED + 1)
    return tl.nn.Sequential(hidden, squareplus, readout)


class Priced(tl.TensorBase):
    """A tensor-like that computes what it wraps, and logs what each op costs."""

    def __init__(self, value: tl.RawTensor, log: Log) -> None:
        self.value, self.log = value, log

    def lift(self, other: tl.RawTensor) -> Priced:  # a weight, say, that met a priced value
        return Priced(other, self.log)


@tl.apply.register
def apply_priced(op: tl.ops.OpBase, *xs: Priced) -> tuple[Priced, ...]:
    outputs = op(*(x.value for x in xs))
    flops = sum(math.prod(y.shape) for y in outputs)
    if isinstance(op, tl.ops.Linear):
        flops *= 2 * xs[0].value.shape[-1]
    xs[0].log.append((op, flops))
    return tuple(Priced(y, xs[0].log) for y in outputs)


def load_data() -> list[np.ndarray]:
    """Shuffled pixels and labels to train with, and those of the held-out fifth."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(labels))
    pixels, labels = (pixels[order] / 16).astype(np.float32), labels[order]
    held = len(labels) // 5
    return [pixels[held:], labels[held:], pixels[:held], labels[:held]]


def train(network: tl.nn.Layer, pixels: np.ndarray, labels: np.ndarray, epochs: int) -> None:
    optimizer = tl.optim.Adam(network.parameters())
    shuffle = np.random.default_rng(SEED)
    for epoch in (progress := tqdm(range(epochs), desc="training", unit="epoch")):
        optimizer.lr = 1e-2 * (1 - epoch / epochs)
        order = shuffle.permutation(len(labels))
        for batch in np.split(order, range(BATCH, len(order), BATCH)):
            loss = F.cross_entropy(network(pixels[batch]), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        progress.set_postfix(loss=f"{loss.item():.4f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)

    pixels, labels, held_pixels, held_labels = load_data()
    network = make_network()
    train(network, pixels, labels, parser.parse_args().epochs)
    predictions = F.argmax(network(held_pixels), axis=-1).numpy()
    accuracy = np.mean(predictions == held_labels)
    print(f"accuracy on {len(held_labels)} held-out digits: {accuracy:.1%}")

    listing = tl.Listing()
    network(listing.input("pixels", (BATCH, 64)))
    print(f"\nThe same network on a symbolic tensor-like:\n{listing}")

    log: Log = []
    with tl.no_grad():
        network(Priced(tl.as_raw_tensor(held_pixels[:BATCH]), log))
    print("\nThe same network on a tensor-like that counts:")
    print(*(f"{flops:>9,} FLOP  {op}" for op, flops in log), sep="\n")

    restored = make_network()
    with tempfile.TemporaryDirectory() as folder:
        save_file(network.state_dict(), Path(folder) / "digits.safetensors")
        restored.load_state_dict(load_file(Path(folder) / "digits.safetensors"))
    same = np.array_equal(F.argmax(restored(held_pixels), axis=-1).numpy(), predictions)
    print(f"\nsaved and loaded: the predictions are {'equal' if same else 'DIFFERENT'}")
    sys.exit(0 if same and accuracy >= WANTED_ACCURACY else 1)


if __name__ == "__main__":
    main()
