"""Long chains, wide fans and many tapes: in linear time, on a short stack, with flat memory.

Each figure is a constant. `./dev slow` runs this; each program runs in a process of its own.
"""

from __future__ import annotations

import pytest
from support.apart import run_apart

CHAIN = 1_000_000
FAN = 100_000
TAPES = 100_000
STACK = 256 << 10
LINEAR = 30  # how much longer ten times as much may take: it leaves the caches; squares take 100
FLAT = 1 << 20  # bytes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAMS = {
    "a chain, and backward": """
x = tl.tensor([1.0], requires_grad=True)
y = x
for _ in range(COUNT):
    y = y * 1.0
y.backward()
assert x.grad.item() == 1.0
""",
    "a chain inside grad": """
def f(x):
    for _ in range(COUNT):
        x = F.sin(x)
    return x
assert 0 <= tl.grad(f)(0.5).item() < 1
""",
    "a chain that dies undifferentiated": """
y = x = tl.tensor([1.0], requires_grad=True)
for _ in range(COUNT):
    y = y + x
del y
""",
    "a chain of tangents": """
def f(x):
    for _ in range(COUNT // 10):
        x = x * 1.0
    return x
assert tl.jvp(f, (tl.tensor(2.0),), (tl.tensor(3.0),))[1].item() == 3.0
""",
    "a chain of examples": """
def f(x):
    for _ in range(COUNT // 10):
        x = x * 1.0
    return x
assert tl.vmap(f)(tl.tensor([2.0, 3.0])).tolist() == [2.0, 3.0]
""",
    "a fan of uses": """
x = tl.tensor([1.0], requires_grad=True)
uses = [x * 2.0 for _ in range(COUNT)]
total = uses[0]
for use in uses[1:]:
    total = total + use
total.backward()
assert x.grad.item() == 2.0 * COUNT
""",
    "a fan into one op": """
x = tl.tensor([1.0], requires_grad=True)
F.concat([x] * COUNT).sum().backward()
assert x.grad.item() == COUNT
""",
    "a fan that is asked for": """
xs = [tl.tensor([1.0], requires_grad=True) for _ in range(COUNT)]
assert len(tl.autograd.grad(F.concat(xs).sum(), xs)) == COUNT
""",
    "tapes, one after another": """
f = tl.grad(lambda x: x * x)
x = tl.tensor(3.0)
for _ in range(COUNT):
    assert f(x).item() == 6.0
""",
    "tapes that record blocks": """
x = tl.tensor(3.0, requires_grad=True)
for _ in range(COUNT):
    with tl.Tape() as tape:
        y = x * x
    tl.autograd.grad(y, x)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_time_is_linear_and_the_stack_short(name: str) -> None:
    program = f"begin = time.perf_counter()\n{PROGRAMS[name]}\nprint(time.perf_counter() - begin)"
    count = CHAIN if "chain" in name else FAN

    def seconds(count: int) -> float:
        return min(float(run_apart(program, stack=STACK, COUNT=count)) for _ in range(2))

    assert seconds(count) <= LINEAR * max(seconds(count // 10), 0.02)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_memory_is_flat(name: str) -> None:
    body = "\n".join(f"    {line}" for line in PROGRAMS[name].strip().splitlines())
    program = f"""
def run(COUNT):
{body}
for _ in range(3):
    run(TAPES if "tape" in {name!r} else 2000)
gc.collect()
before, held = resident(), tl.memory.stats()["allocated"]
for _ in range(1 if "tape" in {name!r} else 50):
    run(TAPES if "tape" in {name!r} else 2000)
gc.collect()
assert tl.memory.stats()["allocated"] <= held
print(resident() - before)
"""
    assert int(run_apart(program, TAPES=TAPES)) < FLAT
