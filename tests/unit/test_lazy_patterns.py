"""Patterns are compiled when they are first used, and behave as compiled ones."""

import re
import subprocess
import sys

import pytest

from acc_ace.core.text.patterns import lazy_pattern


def test_a_lazy_pattern_is_used_like_a_compiled_one() -> None:
    lazy, plain = lazy_pattern("(a)b", re.IGNORECASE), re.compile("(a)b", re.IGNORECASE)
    for text in ("xAB ab", "none"):
        assert lazy.sub(r"<\1>", text) == plain.sub(r"<\1>", text)
        assert [m.span() for m in lazy.finditer(text)] == [m.span() for m in plain.finditer(text)]
    assert (lazy.pattern, lazy.flags) == (plain.pattern, plain.flags)


def test_a_broken_pattern_fails_at_its_first_use() -> None:
    with pytest.raises(re.error):
        lazy_pattern("(").search("x")


def test_importing_the_plugin_compiles_no_lazy_pattern() -> None:
    program = (
        "import gc, acc_ace.plugin\n"
        "from acc_ace.core.text.patterns import _LazyPattern\n"
        "lazy = [one for one in gc.get_objects() if type(one) is _LazyPattern]\n"
        "assert lazy\n"
        "print([one.pattern for one in lazy if '_compiled' in vars(one)])\n"
    )
    ran = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
