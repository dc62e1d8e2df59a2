"""Special functions: known values, what they are at the ends, and how far off they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tensorlike as tl

INF, NAN = float("inf"), float("nan")
# Function, arguments, value: of the DLMF's and NIST's tables, and of the definitions.
KNOWN: list[tuple[str, tuple[float, ...], float]] = [
    ("erfinv", (0.5,), 0.476936276204469873),
    ("erfinv", (1.0,), INF),
    ("erfinv", (-1.0,), -INF),
    ("erfinv", (1.5,), NAN),
    ("erfcx", (0.0,), 1.0),
    ("erfcx", (1e10,), 5.6418958354775629e-11),
    ("erfcx", (-30.0,), INF),
    ("ndtr", (0.0,), 0.5),
    ("ndtr", (-37.0,), 5.72557122252457682e-300),
    ("ndtr", (INF,), 1.0),
    ("ndtri", (0.975,), 1.9599639845400542),
    ("ndtri", (1e-300,), -37.047096299361199),
    ("ndtri", (0.0,), -INF),
    ("ndtri", (1.0,), INF),
    ("ndtri", (-0.1,), NAN),
    ("log_ndtr", (-100.0,), -5005.5242086942050886),
    ("log_ndtr", (-INF,), -INF),
    ("log_ndtr", (INF,), 0.0),
    ("i0", (1.0,), 1.2660658777520083356),
    ("i0", (-INF,), INF),
    ("i0e", (INF,), 0.0),
    ("i1", (1.0,), 0.5651591039924850272),
    ("i1", (-INF,), -INF),
    ("bessel_j0", (1.0,), 0.7651976865579665514),
    ("bessel_j0", (2.404825557695773,), -6.1087652597367304e-17),
    ("bessel_j1", (1.0,), 0.4400505857449335160),
    ("bessel_j1", (INF,), 0.0),
    ("zeta", (2.0, 1.0), np.pi**2 / 6),
    ("zeta", (3.0, 0.5), 8.4143983221171599978),
    ("zeta", (1.611720148538924, 1.053801584628424e197), 4.9051908228832304199e-121),
    ("zeta", (1.0, 2.0), INF),
    ("zeta", (0.5, 2.0), NAN),
    ("zeta", (2.0, -1.0), INF),
    ("igamma", (1.0, 2.0), 0.86466471676338730811),
    ("igamma", (0.0, 1.0), 1.0),
    ("igamma", (2.0, INF), 1.0),
    ("igamma", (-1.0, 1.0), NAN),
    ("igammac", (1.0, 2.0), 0.13533528323661269189),
    ("igammac", (1e8, 1e8), 0.49998670192398588),
    ("igammac", (0.35352340533112403, 1.4209659717565462), 0.05784132623898568031),
    ("igammac", (0.001, 0.001), 0.0063123532911397099),
    ("xlogy", (0.0, 0.0), 0.0),
    ("xlogy", (0.0, NAN), NAN),
    ("xlog1py", (0.0, -1.0), 0.0),
    ("entr", (0.5,), 0.34657359027997265),
    ("entr", (0.0,), 0.0),
    ("entr", (-1.0,), -INF),
]


@pytest.mark.parametrize(("name", "args", "wanted"), KNOWN)
def test_known_values_come_out(name: str, args: tuple[float, ...], wanted: float) -> None:
    call = getattr(tl.functional, name)
    found = call(*(tl.tensor(arg, tl.float64) for arg in args)).item()
    np.testing.assert_allclose(found, wanted, rtol=2e-15)
    if all(1e-30 < abs(arg) < 1e7 or arg == 0 for arg in args) and not 0 < abs(wanted) < 1e-9:
        found = call(*(tl.tensor(arg, tl.float32) for arg in args)).item()
        np.testing.assert_allclose(found, wanted, rtol=2e-6)


def units_off(found: Any, wanted: Any, size: Any = None) -> Any:
    wanted = np.asarray(wanted, dtype=np.float64)
    return np.abs(found - wanted) / np.spacing(np.abs(wanted if size is None else size))


# As the declarations say, in units of float64, with the range that they are measured in.
BOUNDS: dict[str, tuple[float, float, float]] = {
    "erfinv": (3, -1, 1),
    "erfcx": (3, -20, 30),
    "ndtr": (3, -37, 9),
    "ndtri": (4, 0, 1),
    "log_ndtr": (4, -50, 10),
    "i0": (4, -700, 700),
    "i0e": (3, -700, 700),
    "i1": (4, -700, 700),
    "i1e": (3, -700, 700),
    "bessel_j0": (4, -100, 100),
    "bessel_j1": (4, -100, 100),
}


def exact(mp: Any, name: str, x: Any) -> Any:
    root = mp.sqrt(2)
    if name == "log_ndtr":
        return mp.log1p(-mp.erfc(x / root) / 2) if x > 0 else mp.log(mp.erfc(-x / root) / 2)
    formulas = {
        "erfinv": lambda: mp.erfinv(x),
        "erfcx": lambda: mp.exp(x * x) * mp.erfc(x),
        "ndtr": lambda: mp.erfc(-x / root) / 2,
        "ndtri": lambda: root * mp.erfinv(2 * x - 1),
        "i0": lambda: mp.besseli(0, x),
        "i0e": lambda: mp.besseli(0, x) * mp.exp(-abs(x)),
        "i1": lambda: mp.besseli(1, x),
        "i1e": lambda: mp.besseli(1, x) * mp.exp(-abs(x)),
        "bessel_j0": lambda: mp.besselj(0, x),
        "bessel_j1": lambda: mp.besselj(1, x),
    }
    return formulas[name]()


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDS)
def test_errors_are_as_small_as_declarations_say(name: str) -> None:
    mp = pytest.importorskip("mpmath").mp
    bound, low, high = BOUNDS[name]
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(low, high, 400), rng.uniform(max(low, -3), min(high, 3), 400)])
    found = np.asarray(getattr(tl.functional, name)(tl.tensor(x)))
    mp.dps = 50
    wanted = np.array([float(exact(mp, name, mp.mpf(float(v)))) for v in x])
    swing = np.sqrt(2 / (np.pi * np.abs(x))) if name.startswith("bessel") else None
    size = None if swing is None else np.where(np.abs(x) < 2, wanted, np.minimum(swing, 1))
    assert units_off(found, wanted, size).max() <= bound + 0.5


def test_erfinv_keeps_its_bound_where_it_passes_a_half() -> None:
    mp = pytest.importorskip("mpmath").mp
    x = np.random.default_rng(4).uniform(0.49, 0.6, 400)
    found = np.asarray(tl.functional.erfinv(tl.tensor(x)))
    with mp.workdps(40):
        wanted = np.array([float(mp.erfinv(mp.mpf(float(v)))) for v in x])
    assert units_off(found, wanted).max() <= 3


def exact_pair(mp: Any, name: str, a: Any, x: Any) -> Any:
    if name == "zeta":
        return mp.zeta(a, x)
    term = total = mp.mpf(1)
    n = 0
    while term > total * mp.mpf(10) ** -mp.dps:
        n += 1
        term *= x / (a + n)
        total += term
    lower = mp.exp(a * mp.log(x) - x - mp.loggamma(a + 1)) * total
    return lower if name == "igamma" else 1 - lower


# As the declarations say.
@pytest.mark.parametrize(("name", "bound"), [("igamma", 20), ("igammac", 30), ("zeta", 4)])
def test_functions_of_two_arguments_keep_their_bounds(name: str, bound: float) -> None:
    mp = pytest.importorskip("mpmath").mp
    rng = np.random.default_rng(2)
    second = np.exp(rng.uniform(-4, 9, 150))
    first = np.exp(rng.uniform(-4, 9, 150))
    if name == "zeta":
        # Half of them where q + k is rounded, since it is beyond a power of two.
        second[::2] = 2.0 ** rng.integers(2, 8, 75) - rng.uniform(0.1, 3, 75)
        first = np.minimum(second * np.exp(rng.normal(size=150)) + 1.01, 200)
    else:  # around the middle, where neither of the two is nearly 0
        second = first * np.exp(rng.normal(size=150) / np.sqrt(1 + first / 9))
    found = np.asarray(getattr(tl.functional, name)(tl.tensor(first), tl.tensor(second)))
    with mp.workdps(300 if name == "zeta" else 60):
        pairs = zip(first, second, strict=True)
        wanted = np.array([float(exact_pair(mp, name, mp.mpf(a), mp.mpf(x))) for a, x in pairs])
    is_usual = (wanted > (1e-300 if name == "zeta" else 1e-40)) & (wanted < 1e300)
    assert is_usual.sum() > 75
    assert units_off(found[is_usual], wanted[is_usual]).max() <= bound + 0.5


# From mpmath with 40 digits.
TINY_SHARES = [
    ("igammac", 1000.0, 2200.5, 1.484902531833525e-181),
    ("igamma", 1000.0, 320.25, 9.311874241713888e-202),
    ("igamma", 5000.0, 3260.0, 1.3174970146344236e-175),
    ("igammac", 5000.0, 7112.0, 1.0087330088298659e-154),
    ("igammac", 20000.0, 24100.0, 1.868879252356049e-163),
    ("igamma", 20000.0, 15990.0, 1.0916471181937763e-204),
    ("igammac", 50.5, 700.25, 1.3323016236131351e-227),
    ("igamma", 150.0, 1.5, 1.022560921660494e-237),
    ("igammac", 6.25, 680.0, 1.9361540755638823e-283),
    ("igammac", 2.5, 715.0, 4.346894405167315e-307),
    ("igammac", 1e6, 1030000.0, 3.262430144876734e-194),
    ("igamma", 1e6, 970100.0, 1.0823390169908208e-200),
    ("igammac", 0.218, 2.738, 0.005718617229526574),
]


@pytest.mark.parametrize(("name", "a", "x", "wanted"), TINY_SHARES)
def test_incomplete_gamma_keeps_its_digits_far_from_its_middle(
    name: str, a: float, x: float, wanted: float
) -> None:
    found = getattr(tl.functional, name)(
        tl.tensor(a, dtype="float64"), tl.tensor(x, dtype="float64")
    )
    assert units_off(found.item(), wanted) <= 20


def test_upper_and_lower_incomplete_gamma_add_up_to_1() -> None:
    rng = np.random.default_rng(3)
    a = np.exp(rng.uniform(-6, 16, 3000))
    x = np.concatenate([a[:1500] * np.exp(rng.normal(size=1500)),
                        a[1500:] + rng.normal(size=1500) * 3 * np.sqrt(a[1500:])])  # fmt: skip
    pair = [getattr(tl.functional, name)(tl.tensor(a), tl.tensor(np.abs(x)))
            for name in ("igamma", "igammac")]  # fmt: skip
    np.testing.assert_allclose(pair[0] + pair[1], 1, rtol=2e-15)


def test_polygamma_goes_on_above_order_2() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.linspace(0.1, 20, 50)
    for n in range(8):
        found = tl.functional.polygamma(n, tl.tensor(x))
        np.testing.assert_allclose(found, special.polygamma(n, x), rtol=2e-14, atol=1e-16)
    slope = tl.grad(lambda x: tl.functional.polygamma(3, x).sum())(tl.tensor(x))
    np.testing.assert_allclose(slope, special.polygamma(4, x), rtol=1e-13)
    with pytest.raises(tl.ParameterError, match="polygamma: n must be at least 0"):
        tl.functional.polygamma(-1, x)


# From mpmath with 40 digits.
POLYGAMMA_LEFT = [
    (3, -0.25, 1555.7633125348507),
    (3, -0.5, 193.40909103400244),
    (4, -0.75, -24483.2395861688),
    (4, -1.125, 786397.3253708257),
    (5, -2.625, 45189.957681523716),
    (7, -10.375, 13104819.918629384),
    (12, -0.875, -2.6333391445903996e20),
    (30, -3.25, 1.2232629049437595e51),
    (100, -0.625, -9.836613653589348e200),
]


@pytest.mark.parametrize(("n", "x", "wanted"), POLYGAMMA_LEFT)
def test_polygamma_is_reflected_left_of_0(n: int, x: float, wanted: float) -> None:
    at = tl.tensor(x, dtype="float64")
    assert tl.functional.polygamma(n, at).item() == pytest.approx(wanted, rel=1e-13)
    if n < 10:
        slope = tl.grad(lambda x: tl.functional.polygamma(n, x))(at)
        assert slope.item() == pytest.approx(tl.functional.polygamma(n + 1, at).item(), rel=1e-12)


def test_polygamma_is_infinite_at_its_poles() -> None:
    poles = tl.tensor([0.0, -1.0, -7.0])
    assert tl.functional.polygamma(3, poles).tolist() == [np.inf] * 3
    assert np.isnan(tl.functional.polygamma(150, tl.tensor(-0.5)).item())


def test_the_special_namespace_is_that_of_scipy() -> None:
    special = pytest.importorskip("scipy.special")
    elsewhere = {"bessel_j0": "j0", "bessel_j1": "j1", "sinc": None}
    x = tl.tensor([0.25, 0.5])
    for name in tl.special.__all__:
        other = elsewhere.get(name, name)
        if other is None or not hasattr(special, other):
            continue
        count = 2 if name in ("gammainc", "gammaincc", "xlogy", "xlog1py", "zeta") else 1
        args = [3 * x] * count if name != "polygamma" else [1, x]
        args = [x] if name in ("logit", "ndtri", "erfinv") else args
        found = getattr(tl.special, name)(*args)
        wanted = getattr(special, other)(*(np.asarray(arg, dtype=float) for arg in args))
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize(("name", "first"), [("igamma", "a"), ("igammac", "a"), ("zeta", "x")])
def test_a_slope_that_is_not_known_is_refused_by_name(name: str, first: str) -> None:
    call = getattr(tl.functional, name)
    one, two = tl.tensor([2.0]), tl.tensor([1.5])
    wanted = f"{name}: gradients must be .*; got one by {first}, whose slope is not; detach {first}"
    for ask in (
        lambda: tl.grad(lambda a: call(a, two).sum())(one),
        lambda: tl.grad(lambda a: call(a * a, two).sum())(one),
        lambda: tl.jvp(lambda a: call(a, two), (one,), (one,)),
        lambda: tl.vmap(tl.grad(lambda a: call(a, 1.5)))(one),
    ):
        with pytest.raises(tl.AutodiffError, match=wanted):
            ask()
    slope = tl.grad(lambda b: call(one, b).sum())(two)
    assert np.isfinite(np.asarray(slope)).all()


DENSITIES = [(1e6, 1e6), (1e6, 1.03e6), (2e5, 1.98e5), (5000.0, 7112.0), (50.5, 90.25), (3.5, 2.0),
             (0.25, 1e-8)]  # fmt: skip


@pytest.mark.parametrize(("name", "sign"), [("igamma", 1), ("igammac", -1)])
@pytest.mark.parametrize(("a", "x"), DENSITIES)
def test_slopes_of_incomplete_gamma_keep_their_digits(
    name: str, sign: int, a: float, x: float
) -> None:
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 40
    place = mp.mpf(x)
    wanted = float(place ** (mp.mpf(a) - 1) * mp.exp(-place) / mp.gamma(mp.mpf(a)))
    call = getattr(tl.functional, name)
    slope = tl.grad(lambda x: call(tl.tensor(a, dtype="float64"), x))
    found = slope(tl.tensor(x, dtype="float64")).item()
    assert units_off(found, sign * wanted) <= 24


def test_slopes_of_incomplete_gamma_at_0_are_their_limits() -> None:
    a = tl.tensor([0.5, 1.0, 2.0])
    slope = tl.grad(lambda x: tl.functional.igamma(a, x).sum())(tl.zeros(3))
    np.testing.assert_array_equal(slope, [np.inf, 1, 0])


def test_gamma_density_is_that_of_a_number_of_events() -> None:
    special = pytest.importorskip("scipy.special")
    a, x = np.arange(8.0)[:, None], np.linspace(0.5, 9, 5)
    found = tl.functional.gamma_density(tl.tensor(a), tl.tensor(x))
    np.testing.assert_allclose(found, x**a * np.exp(-x) / special.gamma(a + 1), rtol=1e-14)
    edges = tl.functional.gamma_density(
        tl.tensor([0.0, 2.0, -1.0, 1.0, 2.0]), tl.tensor([0.0, 0.0, 1.0, -1.0, np.inf])
    )
    np.testing.assert_array_equal(edges, [1, 0, np.nan, np.nan, 0])
