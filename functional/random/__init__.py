"""Random numbers; people see them as `tl.random`.

One class has all distributions, over whatever says which draw comes next: a generator counts its
draws, a key is a value. The functions are the methods of the process's own generator.
"""

from __future__ import annotations

from .generator import Generator as Generator
from .generator import Key as Key
from .generator import default_generator as default_generator
from .generator import fold_in as fold_in
from .generator import key as key
from .generator import split as split

bernoulli = default_generator.bernoulli
beta = default_generator.beta
bits = default_generator.bits
categorical = default_generator.categorical
exponential = default_generator.exponential
gamma = default_generator.gamma
multinomial = default_generator.multinomial
normal = default_generator.normal
permutation = default_generator.permutation
poisson = default_generator.poisson
randint = default_generator.randint
shuffle = default_generator.shuffle
truncated_normal = default_generator.truncated_normal
uniform = default_generator.uniform

__all__ = [
    "Generator",
    "Key",
    "bernoulli",
    "beta",
    "bits",
    "categorical",
    "default_generator",
    "exponential",
    "fold_in",
    "gamma",
    "key",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "shuffle",
    "split",
    "truncated_normal",
    "uniform",
]


def __dir__() -> list[str]:
    """What is public."""
    return sorted(__all__)
