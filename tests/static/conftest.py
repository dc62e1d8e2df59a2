"""What tests of static programs are given."""

from __future__ import annotations

from typing import Any

import pytest

from tensorlike import static


@pytest.fixture
def programs() -> Any:
    """A main and a startup program that are being built, in a scope of their own."""
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup), static.scope_guard(static.Scope()):
        yield main, startup
