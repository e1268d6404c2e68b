"""What code beside a rounding does to its straight-through gradient, read off its source."""

import ast
import textwrap

import pytest

import surrogate
from surrogate._cancels import beside

CASES = {
    "minimum image": ("d - box * torch.round(d / box)", "cancels"),
    "fraction": ("x - jnp.floor(x)", "cancels"),
    "method": ("x - x.floor()", "cancels"),
    "by a name": ("low = tf.floor(x)\nw = x - low\nreturn w * table", "cancels"),
    "the argument by a name": ("q = d / box\nreturn d - box * np.round(q)", "cancels"),
    "a slope of its own": ("r = torch.round(x)\nreturn r + (x - r) ** 3", "cancels"),
    "a field": ("self.w - torch.round(self.w)", "cancels"),
    "over lines": ("return x - torch.round(\n    x\n)", "cancels"),
    "a loss": ("(torch.round(x) - x) ** 2", "cancels"),
    "by hand": ("torch.round(x) + (x - x.detach())", "counts double"),
    "by hand, in one sum": ("torch.round(x) + x - jax.lax.stop_gradient(x)", "counts double"),
    "by hand, around": ("x + (torch.round(x) - x).detach()", None),
    "another value": ("x - torch.round(y)", None),
    "another field": ("self.scale - torch.round(self.w)", None),
    "a module is no value": ("torch.sin(x) - torch.round(torch.cos(y))", None),
    "inside": ("torch.round(x - zero) * scale", None),
    "a sum": ("torch.round(x) + x", None),
    "assigned twice": ("r = torch.round(x)\nr = r * 2\nreturn x - r", None),
}


def written(body, tmp_path):
    text = body if "return" in body else f"return {body}"
    path = tmp_path / "code.py"
    path.write_text("def f(self, x, y, d, box, table, zero, scale):\n" + textwrap.indent(text, "    ") + "\n")
    lines = [n.lineno for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
    return path, sorted(set(lines))


@pytest.mark.parametrize("name", CASES)
def test_it_is_told_of_what_it_is(name, tmp_path):
    body, wanted = CASES[name]
    path, lines = written(body, tmp_path)
    op = "floor" if "floor" in body else "round"
    found = {beside(op, "identity", str(path), line) for line in lines} - {None}
    assert {one.what for one in found} == ({wanted} if wanted else set())


@pytest.mark.parametrize(("op", "gradient"), [("round", "sine"), ("sign", "identity"), ("abs", "sign0")])
def test_only_a_difference_of_ones_cancels(op, gradient, tmp_path):
    path, _ = written(f"x - torch.{op}(x)", tmp_path)
    assert beside(op, gradient, str(path), 2) is None


def test_source_that_cannot_be_read_says_nothing(tmp_path):
    path = tmp_path / "cell.py"
    path.write_text("%matplotlib\nx - np.round(x)\n")
    assert beside("round", "identity", str(path), 2) is None
    assert beside("round", "identity", "<stdin>", 1) is None


def test_captures_tell_it_in_a_line(tmp_path):
    path, _ = written("x - torch.round(x)", tmp_path)
    row = surrogate.Captured(
        "round", "identity", str(path), 2, "code.f", "", 1, beside=f"cancels at {path}:2"
    )
    captures = surrogate.Captures([row])
    assert str(captures).splitlines()[-1] == f"round: identity cancels at {path}:2"
    assert f"round: identity cancels at {path}:2" in captures._repr_html_()
