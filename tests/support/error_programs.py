"""Programs that must fail, with a mark on the line that the error must name.

Each is the source of a function ``f(x, v, n)`` of a scalar, a vector of three and a number; the
line that ends in ``# here`` is the one. The second entry is a part of the message, the third the
class of the error.
"""

from __future__ import annotations

# Refused when a function is converted: (source, part of the message).
SYNTAX = {
    "yield": ("def f(x, v, n):\n    yield x  # here\n", "yield must not be"),
    "yield_from": ("def f(x, v, n):\n    yield from v  # here\n", "yield from must not be"),
    "async_def": ("async def f(x, v, n):  # here\n    return x\n", "async def must not be"),
    "yield_in_branch": (
        "def f(x, v, n):\n    if x > 0:\n        yield x  # here\n",
        "yield must not be",
    ),
    "walrus_in_and": (
        "def f(x, v, n):\n    if x > 0 and (y := x) < 3:  # here\n        x = y\n    return x\n",
        "y := must not be",
    ),
    "walrus_in_or": (
        "def f(x, v, n):\n    return x > 0 or (y := x)  # here\n",
        "y := must not be",
    ),
    "walrus_in_choice": (
        "def f(x, v, n):\n    return (y := x) if n else x  # here\n",
        "y := must not be",
    ),
    "return_in_finally": (
        "def f(x, v, n):\n    for i in range(2):\n        try:\n            x = x + 1\n"
        "        finally:\n            return x  # here\n    return v\n",
        "a return must not be in a finally block",
    ),
    "break_in_finally": (
        "def f(x, v, n):\n    for i in range(2):\n        try:\n            x = x + 1\n"
        "        finally:\n            break  # here\n    return x\n",
        "a jump must not be in a finally block",
    ),
    "continue_in_finally": (
        "def f(x, v, n):\n    while x < 3:\n        try:\n            x = x + 1\n"
        "        finally:\n            continue  # here\n    return x\n",
        "a jump must not be in a finally block",
    ),
    "our_names": (
        "def f(x, v, n):  # here\n    _jit_value = x\n    return _jit_value\n",
        "names that begin with _jit",
    ),
    "await_in_branch": (
        "async def f(x, v, n):  # here\n    if x > 0:\n        await x\n",
        "async def must not be",
    ),
}

# Refused when the program is made: (source, part of the message).
MEANING = {
    "dtypes_of_branches": (
        "def f(x, v, n):\n    if x > 0:  # here\n        y = x\n    else:\n"
        "        y = x.astype('int64')\n    return y\n",
        "y must have the same shape and dtype",
    ),
    "shapes_of_branches": (
        "def f(x, v, n):\n    y = x\n    if x > 0:  # here\n        y = v\n    return y\n",
        "float32(3,)",
    ),
    "shapes_in_elif": (
        "def f(x, v, n):\n    if n < 0:\n        y = x\n    elif x > 0:  # here\n        y = v\n"
        "    else:\n        y = x\n    return y\n",
        "y must have the same shape and dtype",
    ),
    "number_and_vector": (
        "def f(x, v, n):\n    y = 1.0\n    if x > 0:  # here\n        y = v\n    return y\n",
        "the float 1.0",
    ),
    "fraction_and_integer": (
        "def f(x, v, n):\n    y = x.astype('int64')\n    if x > 0:  # here\n        y = 0.5\n"
        "    return y\n",
        "the float 0.5",
    ),
    "number_and_boolean": (
        "def f(x, v, n):\n    y = True\n    if x > 0:  # here\n        y = 3\n    return y\n",
        "the bool True",
    ),
    "texts_that_are_read": (
        "def f(x, v, n):\n    y = 'a'\n    if x > 0:  # here\n        y = 'b'\n"
        "    return {'a': x, 'b': v}[y]\n",
        "y must be the same after both branches",
    ),
    "none_and_tensor": (
        "def f(x, v, n):\n    y = None\n    if x > 0:  # here\n        y = x\n    return y\n",
        "None",
    ),
    "returned_none": (
        "def f(x, v, n):\n    if x > 0:  # here\n        return x\n",
        "the returned value must be the same",
    ),
    "returned_shapes": (
        "def f(x, v, n):\n    if x > 0:  # here\n        return x\n    return v\n",
        "the returned value must have the same shape and dtype",
    ),
    "returned_lengths": (
        "def f(x, v, n):\n    if x > 0:  # here\n        return x, v\n    return (x,)\n",
        "the returned value must be the same",
    ),
    "appended_in_one_branch": (
        "def f(x, v, n):\n    found = []\n    if x > 0:  # here\n        found.append(x)\n"
        "    return found\n",
        "found must be the same",
    ),
    "popped_in_one_branch": (
        "def f(x, v, n):\n    found = [x, x]\n    if x > 0:  # here\n        found.pop()\n"
        "    return found\n",
        "a list of 1",
    ),
    "key_in_one_branch": (
        "def f(x, v, n):\n    found = {}\n    if x > 0:  # here\n        found['x'] = x\n"
        "    return found\n",
        "found must be the same",
    ),
    "functions_of_branches": (
        "def f(x, v, n):\n    if x > 0:  # here\n        g = abs\n    else:\n        g = int\n"
        "    return g(x)\n",
        "g must be the same",
    ),
    "choice_of_shapes": (
        "def f(x, v, n):\n    return x if x > 0 else v  # here\n",
        "the expression must have the same shape and dtype",
    ),
    "and_of_shapes": (
        "def f(x, v, n):\n    y = x and v  # here\n    return y\n",
        "the expression must have the same shape and dtype",
    ),
    "global_in_branch": (
        "COUNT = 0\ndef f(x, v, n):\n    global COUNT\n    if x > 0:  # here\n"
        "        COUNT = COUNT + 1\n    return x\n",
        "COUNT, which is global or nonlocal",
    ),
    "global_in_loop": (
        "COUNT = 0\ndef f(x, v, n):\n    global COUNT\n    while x < 9:  # here\n"
        "        x = x + 9\n"
        "        COUNT = 1\n    return x\n",
        "COUNT, which is global or nonlocal",
    ),
    "nonlocal_in_branch": (
        "def f(x, v, n):\n    k = 0\n    def g():\n        nonlocal k\n        if x > 0:  # here\n"
        "            k = 1\n    g()\n    return x\n",
        "k, which is global or nonlocal",
    ),
    "array_item": (
        "import numpy as np\ndef f(x, v, n):\n    a = np.zeros(2)\n    if x > 0:\n"
        "        a[0] = 1  # here\n    return x\n",
        "an item of a ndarray must not be set",
    ),
    "gradient_attribute": (
        "def f(x, v, n):\n    if x > 0:\n        x.grad = None  # here\n    return x\n",
        "grad of a Tensor must not be set",
    ),
    "logging": (
        "import logging\ndef f(x, v, n):\n    if x > 0:\n        logging.warning('x')  # here\n"
        "    return x\n",
        "logging.warning must not be called",
    ),
    "python_random": (
        "import random\ndef f(x, v, n):\n    if x > 0:\n        x = x * random.random()  # here\n"
        "    return x\n",
        "must not be called in a branch",
    ),
    "clock": (
        "import time\ndef f(x, v, n):\n    while x < 9:\n        x = x + time.time()  # here\n"
        "    return x\n",
        "time.time must not be called",
    ),
    "draws_in_branch": (
        "import tensorlike as tl\ndef f(x, v, n):\n    if x > 0:  # here\n"
        "        x = x + tl.random.normal(())\n    return x\n",
        "random numbers must not be drawn",
    ),
    "carry_changes_dtype": (
        "def f(x, v, n):\n    k = (x * 0).astype('int64')\n    while x < 9:  # here\n"
        "        x = x + 1\n        k = x\n    return k\n",
        "k must keep its shape and dtype",
    ),
    "carry_changes_shape": (
        "def f(x, v, n):\n    y = x\n    while x < 9:  # here\n        x = x + 1\n        y = v\n"
        "    return y\n",
        "float32(3,)",
    ),
    "number_becomes_vector": (
        "def f(x, v, n):\n    y = 0.0\n    while x < 9:  # here\n        x = x + 1\n"
        "        y = y + v\n    return y\n",
        "the float 0.0 before the loop",
    ),
    "list_grows_in_loop": (
        "def f(x, v, n):\n    found = []\n    while x < 9:  # here\n        x = x + 1\n"
        "        found.append(x)\n    return found\n",
        "found must keep its shape and dtype",
    ),
    "endless_iterator": (
        "import itertools\ndef f(x, v, n):\n    for i in itertools.count():  # here\n"
        "        x = x + 1\n        if x > 5:\n            break\n    return x\n",
        "must be over what has a length",
    ),
    "caught_refusal": (
        "def f(x, v, n):\n    try:\n        if x > 0:  # here\n            y = x\n        else:\n"
        "            y = v\n    except Exception:\n        y = n\n    return y\n",
        "y must have the same shape and dtype",
    ),
    "match_on_texts_in_branch": (
        "def f(x, v, n):\n    if x > 0:  # here\n        y = 'up'\n    else:\n        y = 'down'\n"
        "    match y:\n        case 'up':\n            return x\n    return -x\n",
        "y must be the same",
    ),
}

# Raised by what the user wrote, at building: (source, part of the message, the class's name).
BUILDING = {
    "vector_condition": (
        "def f(x, v, n):\n    if v > 0:  # here\n        x = x + 1\n    return x\n",
        "a condition must be one boolean",
        "ShapeError",
    ),
    "vector_loop": (
        "def f(x, v, n):\n    while v < 9:  # here\n        v = v + 1\n    return v\n",
        "a condition must be one boolean",
        "ShapeError",
    ),
    "vector_not": (
        "def f(x, v, n):\n    return not v  # here\n",
        "a condition must be one boolean",
        "ShapeError",
    ),
    "int_of_vector": (
        "def f(x, v, n):\n    return int(v)  # here\n",
        "int must be given one number",
        "ShapeError",
    ),
    "shapes_in_branch": (
        "import tensorlike as tl\ndef f(x, v, n):\n    if x > 0:\n"
        "        x = (v @ tl.zeros((2, 2))).sum()  # here\n    return x\n",
        "MatMul",
        "ShapeError",
    ),
    "shapes_in_other_branch": (
        "import tensorlike as tl\ndef f(x, v, n):\n    if x > 0:\n        y = x\n    else:\n"
        "        y = (v + tl.zeros((2,))).sum()  # here\n    return y\n",
        "broadcast",
        "ShapeError",
    ),
    "shapes_in_loop": (
        "import tensorlike as tl\ndef f(x, v, n):\n    while x < 9:\n"
        "        x = x + (v + tl.zeros((2,))).sum()  # here\n    return x\n",
        "broadcast",
        "ShapeError",
    ),
    "shapes_in_helper": (
        "import tensorlike as tl\ndef g(v):\n    return v + tl.zeros((2,))  # here\n"
        "def f(x, v, n):\n    if x > 0:\n        x = g(v).sum()\n    return x\n",
        "broadcast",
        "ShapeError",
    ),
    "one_branch": (
        "def f(x, v, n):\n    if x > 0:\n        y = x\n    return y  # here\n",
        "y has no value here",
        "UnboundLocalError",
    ),
    "only_in_loop": (
        "def f(x, v, n):\n    while x < 9:\n        x = x + 1\n        y = x\n"
        "    return y  # here\n",
        "y has no value here",
        "UnboundLocalError",
    ),
    "deleted_in_branch": (
        "def f(x, v, n):\n    y = x\n    if x > 0:\n        del y\n    return y  # here\n",
        "y has no value here",
        "UnboundLocalError",
    ),
    "unknown_name": (
        "def f(x, v, n):\n    if x > 0:\n        x = x + unknown  # here\n    return x\n",
        "unknown",
        "NameError",
    ),
    "unknown_attribute": (
        "def f(x, v, n):\n    for i in range(n):\n        x = x.nothing  # here\n    return x\n",
        "nothing",
        "AttributeError",
    ),
    "raised_by_python": (
        "def f(x, v, n):\n    if n > 0:\n        raise ValueError('n')  # here\n    return x\n",
        "n",
        "ValueError",
    ),
    "failed_assertion": (
        "def f(x, v, n):\n    assert n > 5, 'small'  # here\n    return x\n",
        "small",
        "AssertionError",
    ),
    "zero_division": (
        "def f(x, v, n):\n    while n > 0:\n        n = n // 0  # here\n    return x\n",
        "zero",
        "ZeroDivisionError",
    ),
    "key_error": (
        "def f(x, v, n):\n    d = {}\n    if x > 0:\n        x = d['k']  # here\n    return x\n",
        "k",
        "KeyError",
    ),
    "caught_in_branch": (
        "def f(x, v, n):\n    d = {}\n    try:\n        if x > 0:\n            x = d['k']  # here\n"
        "    except KeyError:\n        x = v\n    return x\n",
        "k",
        "KeyError",
    ),
    "caught_by_type": (
        "def f(x, v, n):\n    try:\n        if x > 0:\n            raise ValueError('x')  # here\n"
        "    except ValueError:\n        x = x + 1\n    return x\n",
        "x",
        "ValueError",
    ),
    "caught_assertion": (
        "def f(x, v, n):\n    try:\n        assert x < 0  # here\n    except AssertionError:\n"
        "        x = x + 1\n    return x\n",
        "assert x < 0",
        "AssertionError",
    ),
    "wrong_arguments": (
        "def g(x):\n    return x\ndef f(x, v, n):\n    if n:\n        x = g(x, v)  # here\n"
        "    return x\n",
        "argument",
        "TypeError",
    ),
}

# Raised when the program runs: (source, part of the message, the class's name).
RUNNING = {
    "assertion": (
        "def f(x, v, n):\n    assert x < 0, 'not negative'  # here\n    return x\n",
        "not negative",
        "AssertionError",
    ),
    "assertion_in_branch": (
        "def f(x, v, n):\n    if x > 0:\n        assert v[0] > 5  # here\n    return x\n",
        "assert v[0] > 5",
        "AssertionError",
    ),
    "assertion_in_loop": (
        "def f(x, v, n):\n    while x < 9:\n        x = x + 1\n        assert x < 5  # here\n"
        "    return x\n",
        "assert x < 5",
        "AssertionError",
    ),
    "raise_in_branch": (
        "def f(x, v, n):\n    if x > 0:\n        raise ValueError('positive')  # here\n"
        "    return x\n",
        "positive",
        "ValueError",
    ),
    "raise_in_else": (
        "def f(x, v, n):\n    if x < 0:\n        y = x\n    else:\n"
        "        raise OSError('else')  # here\n"
        "    return y\n",
        "else",
        "OSError",
    ),
}
