"""The private hooks: refused when one is missing, exchanged and put back exactly."""

import subprocess
import sys

import autograd.core
import autograd.numpy as anp
import autograd.tracer
import pytest
from surrogate_autograd import _hooks
from surrogate_autograd._swap import Swap, is_stand_in

import surrogate


class TestProbe:
    @pytest.mark.parametrize(
        ("module", "name"),
        [
            (autograd.tracer, "getval"),
            (autograd.tracer, "trace_stack"),
            (autograd.core, "add_outgrads"),
            (autograd.core.VJPNode, "vjp"),
        ],
        ids=lambda v: getattr(v, "__name__", v),
    )
    def test_a_missing_name(self, module, name, monkeypatch):
        monkeypatch.delattr(module, name)
        with pytest.raises(
            surrogate.IncompatibleFrameworkError, match=rf"{module.__name__}\.{name}.*Tested with 1\.8"
        ):
            _hooks.probe()

    def test_a_primitive_that_is_no_function(self, monkeypatch):
        monkeypatch.setattr(anp, "sign", abs)
        with pytest.raises(surrogate.IncompatibleFrameworkError, match=r"autograd\.numpy\.sign"):
            _hooks.probe()

    def test_primitives_that_share_no_code(self, monkeypatch):
        def other(*args):
            raise NotImplementedError

        monkeypatch.setattr(anp, "mod", other)
        with pytest.raises(surrogate.IncompatibleFrameworkError, match="one code object"):
            _hooks.probe()

    def test_it_runs_when_the_backend_loads(self):
        script = (
            "import autograd.core, surrogate\n"
            "del autograd.core.add_outgrads\n"
            "try: surrogate.use('autograd')\n"
            "except surrogate.IncompatibleFrameworkError as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert "autograd.core.add_outgrads" in done.stdout

    def test_only_hooks_names_autograd_s_internals(self):
        """Elsewhere only what autograd documents: its namespaces, operators and ``autograd.extend``."""
        import ast
        from pathlib import Path

        public = {"autograd.numpy", "autograd.extend", "autograd"}
        for file in Path(_hooks.__file__).parent.glob("*.py"):
            if file.name == "_hooks.py":
                continue
            for node in ast.walk(ast.parse(file.read_text())):
                names = [node.module] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                found = {name for name in names if name and name.split(".")[0] == "autograd"}
                assert found <= public, (file.name, found)


def outer(free, other):
    """What autograd's primitives look like: a closure that calls itself."""

    def inner(*args, flag=False, **kwargs):
        return free, other, args, flag, kwargs

    return inner


class TestSwap:
    def test_the_function_is_the_same_object(self):
        function = outer(1, 2)
        alias, code = function, function.__code__
        swap = Swap(function, code, lambda native: lambda *args, **kwargs: ("caught", args, kwargs))
        swap.install()
        assert alias(3, flag=True) == ("caught", (3,), {"flag": True})
        assert is_stand_in(function.__code__)
        swap.remove()
        assert function.__code__ is code
        assert alias(3, flag=True) == (1, 2, (3,), True, {})

    def test_the_native_copy_is_never_caught(self):
        function = outer(1, 2)
        natives = []
        swap = Swap(
            function, function.__code__, lambda native: natives.append(native) or (lambda *a, **k: "caught")
        )
        swap.install()
        assert natives[0](3) == (1, 2, (3,), False, {})

    def test_another_function_of_the_same_code_is_left_alone(self):
        function, other = outer(1, 2), outer(3, 4)
        swap = Swap(function, function.__code__, lambda native: lambda *a, **k: "caught")
        swap.install()
        assert other() == (3, 4, (), False, {})

    def test_local_variables_of_a_caught_call_can_be_read(self):
        function, seen = outer(1, 2), []

        def catch(*args):
            seen.append(sys._getframe(1).f_locals)

        swap = Swap(function, function.__code__, lambda native: catch)
        swap.install()
        function()
        assert {name: seen[0][name] for name in ("free", "other", "args", "kwargs")} == {
            "free": 1,
            "other": 2,
            "args": (),
            "kwargs": {},
        }

    def test_the_name_in_tracebacks_is_kept(self):
        function = outer(1, 2)
        swap = Swap(function, function.__code__, lambda native: lambda: 1 / 0)
        swap.install()
        with pytest.raises(ZeroDivisionError) as caught:
            function()
        assert [entry.name for entry in caught.traceback][-2:] == ["inner", "<lambda>"]
