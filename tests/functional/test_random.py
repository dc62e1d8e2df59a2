"""Random numbers: that they are those of the generator, reproducible, and distributed as said."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.opdecl.oracle.reference_random import philox

stats = pytest.importorskip("scipy.stats")
Array = np.ndarray[Any, Any]
F = tl.functional
COUNT = 200_000
# With fixed seeds a test passes always or never; this is how unlikely a good generator would fail.
LEAST_P = 1e-4


def generator(seed: int = 1) -> tl.random.Generator:
    return tl.random.Generator(seed)


def values(x: Any) -> Array:
    return np.asarray(x, dtype=np.float64)


def test_the_generator_gives_the_words_of_the_paper() -> None:
    """The known answers that come with its authors' code: all bits 0, and all bits 1."""
    words = philox(0, [0])[0]
    assert [int(word) for word in words] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    words = philox(2**64 - 1, [2**64 - 1], 2**32 - 1, 2**32 - 1)[0]
    assert [int(word) for word in words] == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    drawn = F.random_draw(8, mode="bits", dtype=tl.uint32)
    assert [int(word) for word in np.asarray(drawn)[:4]] == [int(w) for w in philox(0, [0])[0]]


CONTINUOUS: list[tuple[str, Callable[..., Any], Any]] = [
    ("uniform", lambda g, t: g.uniform(COUNT, dtype=t), stats.uniform()),
    ("uniform", lambda g, t: g.uniform(COUNT, -3.0, 5.0, dtype=t), stats.uniform(-3, 8)),
    ("normal", lambda g, t: g.normal(COUNT, dtype=t), stats.norm()),
    ("normal", lambda g, t: g.normal(COUNT, 2.0, 3.0, dtype=t), stats.norm(2, 3)),
    ("truncated", lambda g, t: g.truncated_normal(COUNT, dtype=t), stats.truncnorm(-2, 2)),
    (
        "tail",
        lambda g, t: g.truncated_normal(COUNT, 4.0, math.inf, dtype=t),
        stats.truncnorm(4, np.inf),
    ),
    (
        "mirrored tail",
        lambda g, t: g.truncated_normal(COUNT, -6.0, -3.0, dtype=t),
        stats.truncnorm(-6, -3),
    ),
    (
        "narrow",
        lambda g, t: g.truncated_normal(COUNT, 1.0, 1.5, dtype=t),
        stats.truncnorm(1, 1.5),
    ),
    (
        "lopsided",
        lambda g, t: g.truncated_normal(COUNT, -3.0, 0.5, 1.0, 2.0, dtype=t),
        stats.truncnorm(-3, 0.5, 1, 2),
    ),
    ("exponential", lambda g, t: g.exponential(COUNT, 2.0, dtype=t), stats.expon(scale=2)),
    *[
        (
            f"gamma {alpha}",
            lambda g, t, alpha=alpha: g.gamma(alpha, 2.0, shape=COUNT, dtype=t),
            stats.gamma(alpha, scale=2),
        )
        for alpha in (0.2, 0.7, 1.0, 2.5, 40.0, 1e4)
    ],
    *[
        (
            f"beta {a} {b}",
            lambda g, t, a=a, b=b: g.beta(a, b, shape=COUNT, dtype=t),
            stats.beta(a, b),
        )
        for a, b in ((0.5, 0.5), (2.0, 3.0), (1.0, 20.0))
    ],
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "draw", "law"), CONTINUOUS)
def test_real_numbers_follow_their_distribution(
    name: str, draw: Callable[..., Any], law: Any, dtype: str
) -> None:
    x = draw(generator(len(name)), dtype)
    assert x.dtype.name == dtype
    assert stats.kstest(values(x), law.cdf).pvalue > LEAST_P
    mean, variance = law.stats("mv")
    assert abs(values(x).mean() - mean) < 5 * math.sqrt(variance / COUNT)


DISCRETE: list[tuple[str, Callable[[Any], Any], Any]] = [
    ("randint", lambda g: g.randint(-3, 9, COUNT), stats.randint(-3, 9)),
    ("bernoulli", lambda g: g.bernoulli(0.3, shape=COUNT), stats.bernoulli(0.3)),
    *[
        (f"poisson {rate}", lambda g, r=rate: g.poisson(r, shape=COUNT), stats.poisson(rate))
        for rate in (0.01, 1.0, 9.9, 10.0, 35.5, 1000.0)
    ],
    (
        "categorical",
        lambda g: g.categorical(tl.tensor(np.log([0.1, 0.2, 0.7])), shape=COUNT),
        stats.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7])),
    ),
    (
        "multinomial",
        lambda g: g.multinomial(tl.tensor([2.0, 4.0, 14.0]), COUNT, replacement=True),
        stats.rv_discrete(values=([0, 1, 2], [0.1, 0.2, 0.7])),
    ),
]


@pytest.mark.parametrize(("name", "draw", "law"), DISCRETE)
def test_integers_follow_their_distribution(
    name: str, draw: Callable[[Any], Any], law: Any
) -> None:
    x = values(draw(generator(3))).astype(int)
    low, high = int(law.ppf(1e-4)), int(law.ppf(1 - 1e-4))
    cells = np.arange(low, high + 1)
    wanted = law.pmf(cells) * COUNT
    # What is rare is counted with what lies beyond the ends.
    found = np.array([np.sum(x == cell) for cell in cells], dtype=float)
    is_common = wanted > 8
    rest = COUNT - wanted[is_common].sum()
    wanted = np.append(wanted[is_common], rest) if rest > 1e-6 else wanted[is_common]
    found = np.append(found[is_common], COUNT - found[is_common].sum())[: len(wanted)]
    assert found.sum() == COUNT
    assert stats.chisquare(found, wanted * (COUNT / wanted.sum())).pvalue > LEAST_P


def test_bits_and_successive_pairs_are_equally_likely() -> None:
    words = np.asarray(generator(5).bits(COUNT, dtype=tl.uint32))
    shares = np.array([(words >> np.uint32(bit) & np.uint32(1)).mean() for bit in range(32)])
    assert np.abs(shares - 0.5).max() < 5 * 0.5 / math.sqrt(COUNT)
    pairs = np.bincount((words[::2] >> 28).astype(int) * 16 + (words[1::2] >> 28).astype(int))
    assert stats.chisquare(pairs).pvalue > LEAST_P


def test_streams_are_not_correlated() -> None:
    g = generator(6)
    key = tl.random.key(6)
    rows = [g.normal(50_000) for _ in range(3)]
    rows += [generator(seed).normal(50_000) for seed in (7, 8)]
    rows += [part.normal(50_000) for part in [*key.split(3), key.fold_in(0), key.fold_in(1)]]
    rows += [one.normal(50_000) for one in g.spawn(2)]
    table = np.corrcoef(np.stack([values(row) for row in rows]))
    assert np.abs(table - np.eye(len(rows))).max() < 5 / math.sqrt(50_000)


def test_uniform_numbers_use_all_bits_and_stay_below_one() -> None:
    for dtype, digits in (("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)):
        x = generator(9).uniform(COUNT, dtype=dtype)
        found = values(tl.astype(x, dtype=tl.float64))
        assert found.min() >= 0.0 and found.max() < 1.0
        steps = found * 2.0**digits
        assert (steps == np.floor(steps)).all()
        assert (steps % 2 == 1).mean() > 0.4


DRAWS: list[tuple[str, Callable[[Any], Any]]] = [
    ("uniform", lambda g: g.uniform((300, 301))),
    ("normal", lambda g: g.normal((300, 301), dtype=tl.float64)),
    ("truncated_normal", lambda g: g.truncated_normal(90_001, 1.0, 3.0)),
    ("exponential", lambda g: g.exponential(90_001)),
    ("randint", lambda g: g.randint(0, 2**62 + 2**61, 90_001)),
    ("bits", lambda g: g.bits(90_001, dtype=tl.uint64)),
    ("bernoulli", lambda g: g.bernoulli(0.5, shape=90_001)),
    ("gamma", lambda g: g.gamma(0.7, shape=90_001)),
    ("beta", lambda g: g.beta(0.7, 2.0, shape=90_001)),
    ("poisson", lambda g: g.poisson(20.0, shape=90_001)),
    ("permutation", lambda g: g.permutation(90_001)),
    ("categorical", lambda g: g.categorical(tl.zeros(7), shape=9_001)),
    ("multinomial", lambda g: g.multinomial(tl.ones((9, 50)), 20)),
]


@pytest.mark.parametrize(("name", "draw"), DRAWS)
def test_draws_do_not_depend_on_threads_or_on_the_engine(
    name: str, draw: Callable[[Any], Any]
) -> None:
    wanted = np.asarray(draw(generator(11)))
    assert (np.asarray(draw(generator(12))) != wanted).any()
    before = tl.num_threads()
    for count in (1, 3):
        tl.set_num_threads(count)
        np.testing.assert_array_equal(np.asarray(draw(generator(11))), wanted)
    tl.set_num_threads(before)
    for mode in ("lazy", "async"):
        with tl.engine.mode(mode):
            np.testing.assert_array_equal(np.asarray(draw(generator(11))), wanted)


@pytest.mark.parametrize("mode", ["uniform", "normal", "truncated_normal", "integers", "bits"])
def test_an_element_depends_on_its_number_alone(mode: str) -> None:
    attrs = {"low": -1, "high": 2**40} if mode == "integers" else {"low": -1, "high": 1}
    whole = np.asarray(F.random_draw(70_000, mode=mode, key=-5, counter=3, **attrs))
    for size in (1, 2, 3, 255, 257, 1001):
        part = np.asarray(F.random_draw(size, mode=mode, key=-5, counter=3, **attrs))
        np.testing.assert_array_equal(part, whole[:size])


def test_seeds_keys_and_states_repeat_numbers() -> None:
    tl.manual_seed(4)
    first = [tl.random.uniform(3).tolist(), tl.random.normal(3).tolist()]
    mask = F.dropout(tl.ones(50), seed=0).tolist()
    tl.manual_seed(4)
    assert [tl.random.uniform(3).tolist(), tl.random.normal(3).tolist()] == first
    assert first[0] == generator(4).uniform(3).tolist()
    assert F.dropout(tl.ones(50), seed=0).tolist() == mask
    g = generator(4)
    state = g.state
    drawn = g.uniform(3).tolist()
    assert g.uniform(3).tolist() != drawn
    g.state = state
    assert g.uniform(3).tolist() == drawn
    key = tl.random.key(4)
    assert key.uniform(3).tolist() == tl.random.key(4).uniform(3).tolist()
    assert key == tl.random.key(4) and hash(key) == hash(tl.random.key(4))
    assert key.split(2) == tl.random.split(key) and key.split(1)[0] == key.split(2)[0]
    assert tl.random.fold_in(key, 3) == key.fold_in(3) != key.fold_in(4)
    with pytest.raises(AttributeError):
        key.value = 3  # type: ignore[misc]


def test_dropout_draws_from_the_process_own_generator() -> None:
    drop = tl.nn.Dropout(0.5)
    tl.manual_seed(5)
    first = drop(tl.ones(64)).tolist()
    assert tl.random.default_generator.state == (5, 1)
    assert drop(tl.ones(64)).tolist() != first
    tl.manual_seed(5)
    assert drop(tl.ones(64)).tolist() == first


def test_a_generator_goes_on_behind_the_last_counter() -> None:
    g = generator(6)
    g.state = (6, 2**32 - 1)
    drawn = [g.uniform(3).tolist() for _ in range(3)]
    assert len({tuple(one) for one in drawn}) == 3
    assert drawn[1] != generator(6).uniform(3).tolist()


def test_gradients_flow_to_scale_and_shift_and_draws_are_the_same_again() -> None:
    g = generator(8)
    noise = values(generator(8).normal(5))

    def loss(mean: Any, std: Any) -> Any:
        g.state = (8, 0)
        return F.sum(F.square(g.normal(5, mean, std)))

    mean, std = tl.tensor(0.5), tl.tensor(2.0)
    dmean, dstd = tl.grad(loss, argnums=(0, 1))(mean, std)
    drawn = 0.5 + 2.0 * noise
    np.testing.assert_allclose(float(np.asarray(dmean)), 2 * drawn.sum(), rtol=1e-5)
    np.testing.assert_allclose(float(np.asarray(dstd)), 2 * (drawn * noise).sum(), rtol=1e-5)

    def spread(low: Any, high: Any) -> Any:
        return F.sum(tl.random.key(3).uniform(4, low, high))

    u = values(tl.random.key(3).uniform(4))
    dlow, dhigh = tl.grad(spread, argnums=(0, 1))(tl.tensor(1.0), tl.tensor(2.0))
    np.testing.assert_allclose(float(np.asarray(dlow)), (1 - u).sum(), rtol=1e-5)
    np.testing.assert_allclose(float(np.asarray(dhigh)), u.sum(), rtol=1e-5)


def test_permutations_and_shuffles_keep_every_slice() -> None:
    x = tl.tensor(np.arange(60).reshape(20, 3))
    moved = np.asarray(generator(2).permutation(x))
    assert sorted(map(tuple, moved)) == sorted(map(tuple, np.asarray(x)))
    columns = np.asarray(generator(2).permutation(x, axis=1))
    assert sorted(map(tuple, columns.T)) == sorted(map(tuple, np.asarray(x).T))
    before = np.asarray(x).copy()
    generator(2).shuffle(x)
    np.testing.assert_array_equal(np.asarray(x), moved)
    assert (np.asarray(x) != before).any()
    places = np.stack([np.asarray(generator(seed).permutation(5)) for seed in range(2000)])
    for column in places.T:
        assert stats.chisquare(np.bincount(column)).pvalue > LEAST_P


def test_choices_without_replacement_differ_and_follow_weights() -> None:
    rows = np.asarray(generator(2).multinomial(tl.tensor([[1.0, 2.0, 3.0, 0.0]] * 20_000), 3))
    assert (np.sort(rows, axis=1) == [0, 1, 2]).all()
    first = np.bincount(rows[:, 0], minlength=3) / len(rows)
    np.testing.assert_allclose(first, [1 / 6, 2 / 6, 3 / 6], atol=0.02)


def test_edges_of_parameters() -> None:
    g = generator(1)
    assert g.poisson(tl.tensor([0.0, 1e-300])).tolist() == [0, 0]
    assert np.isfinite(values(g.poisson(1e18, shape=100))).all()
    assert g.gamma(0.0, shape=3).tolist() == [0.0, 0.0, 0.0]
    assert g.gamma(math.inf, shape=1).tolist() == [math.inf]
    tiny = values(g.beta(1e-8, 1e-8, shape=1000, dtype=tl.float64))
    assert np.isin(tiny, [0.0, 1.0]).mean() > 0.99
    assert not np.isnan(tiny).any()
    assert g.randint(-(2**63), 2**63 - 1, 4).dtype == tl.int64
    assert g.randint(0, 256, 1000, dtype=tl.uint8).dtype == tl.uint8
    assert g.uniform((0, 3)).shape == (0, 3) and g.normal(()).shape == ()
    assert g.permutation(0).shape == (0,)
    assert values(g.truncated_normal(1000, 30.0, 31.0)).min() >= 30.0


BAD: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("shape", lambda: generator().uniform((-1,)), tl.ShapeError, "."),
    ("huge", lambda: generator().uniform((2**40, 2**40)), tl.TensorlikeError, "."),
    ("dtype", lambda: generator().normal(3, dtype=tl.int32), tl.DTypeError, "real floating"),
    ("complex", lambda: generator().uniform(3, dtype=tl.complex64), tl.DTypeError, "real floating"),
    ("whole", lambda: generator().randint(0, 3, 3, dtype=tl.float32), tl.DTypeError, "integer"),
    ("range", lambda: generator().randint(3, 3), tl.ParameterError, "low=3, high=3"),
    ("fraction", lambda: generator().randint(0, 2.5), TypeError, "an integer"),  # type: ignore[arg-type]
    ("bounds", lambda: generator().truncated_normal(3, 2.0, 1.0), tl.ParameterError, "less than"),
    (
        "NaN bound",
        lambda: generator().truncated_normal(3, math.nan),
        tl.ParameterError,
        "less than",
    ),
    ("rate", lambda: generator().poisson(-1.0), tl.ParameterError, "got -1 at element 0"),
    ("NaN rate", lambda: generator().poisson(math.nan), tl.ParameterError, "negative, NaN"),
    ("large rate", lambda: generator().poisson(1e19), tl.ParameterError, "above 2\\^62"),
    ("alpha", lambda: generator().gamma(tl.tensor([1.0, -2.0])), tl.ParameterError, "element 1"),
    ("no categories", lambda: generator().categorical(tl.zeros((2, 0))), tl.ShapeError, "category"),
    ("too many", lambda: generator().multinomial(tl.ones(3), 4), tl.ShapeError, "replacement=True"),
    ("permutation", lambda: generator().permutation(-1), tl.ParameterError, "negative"),
    ("axis", lambda: generator().permutation(tl.zeros(3), axis=1), tl.IndexRangeError, "axis"),
    ("shuffled array", lambda: generator().shuffle(np.zeros(3)), tl.ParameterError, "permutation"),  # type: ignore[arg-type]
    (
        "counter",
        lambda: F.random_draw(3, counter=2**32),
        tl.ParameterError,
        "counter < 4294967296 must",
    ),
    (
        "mode",
        lambda: F.random_draw(3, mode="cauchy"),
        tl.ParameterError,
        "mode must be 'uniform', 'normal'",
    ),
    ("from", lambda: F.random_from(tl.ones(3), mode="no"), tl.ParameterError, "mode must be"),
    ("split", lambda: tl.random.key(1).split(-1), tl.ParameterError, "at least 0"),
    ("seed", lambda: tl.random.Generator(1.5), tl.ParameterError, "integer"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("what", "run", "error", "text"), BAD, ids=[case[0] for case in BAD])
def test_bad_input_is_refused(
    what: str, run: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        run()


@pytest.mark.parametrize("name", ["normal", "poisson", "bits", "permutation"])
def test_a_draw_that_is_refused_has_not_been_taken(name: str) -> None:
    """What follows a caught error is what would have come without it."""
    wrong = {"normal": ("a",), "poisson": (float("nan"),), "bits": (-1,), "permutation": (2**64,)}
    drawing, other = generator(), generator()
    with pytest.raises((tl.TensorlikeError, TypeError, OverflowError)):
        getattr(drawing, name)(*wrong[name])
    assert drawing.state == other.state
    assert drawing.normal(3).tolist() == other.normal(3).tolist()


def test_draws_are_not_given_back_past_those_of_another_thread() -> None:
    drawing = generator()
    before = drawing.state
    drawing.normal(1)
    thread = threading.Thread(target=drawing.normal, args=(1,))
    thread.start()
    thread.join()
    drawing._stream.give_back(before)
    assert drawing.state == (before[0], before[1] + 2)


def test_errors_of_distributions_name_them() -> None:
    with pytest.raises(tl.DTypeError, match=r"^normal: dtype must be one of"):
        generator().normal(2, dtype="junk")
    with pytest.raises(tl.ParameterError, match=r"^uniform: shape must be an integer or several"):
        generator().uniform("a")  # type: ignore[arg-type]


def test_lists_of_keys_end_before_the_memory_does() -> None:
    for make in (generator().spawn, tl.random.key(1).split):
        with pytest.raises(tl.ParameterError, match=r"count must be at most 16777216; got count="):
            make(2**40)
