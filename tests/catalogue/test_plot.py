"""Pictures: what is on the axes, not how the pixels look."""

import re
import subprocess
import sys

import matplotlib
import matplotlib.style
import numpy as np
import pytest
from matplotlib.figure import Figure

import surrogate
from surrogate import plot
from surrogate._branches import Jump, branches

matplotlib.use("agg")


@pytest.fixture
def ax():
    return Figure().add_subplot()


def line(ax, label):
    (found,) = [one for one in ax.lines if one.get_label() == label]
    return found


def markers(ax, color):
    """(filled, hollow) points of one colour."""
    found = {True: [], False: []}
    for one in ax.lines:
        if one.get_marker() == "o" and one.get_color() == color:
            filled = one.get_markerfacecolor() != ax.get_facecolor()
            found[filled] += [tuple(map(float, point)) for point in one.get_xydata()]
    return sorted(found[True]), sorted(found[False])


class TestBranches:
    def test_a_jump_is_found_to_the_last_bit(self):
        got = branches(lambda x: 1.0 * (np.abs(x) <= 0.3), 1.0)
        assert got.jumps == (Jump(-0.3, 0, 1, 1), Jump(0.3, 1, 1, 0))

    def test_three_values_at_one_place(self):
        got = branches(np.sign, 1.0)
        assert got.jumps == (Jump(0.0, -1, 0, 1),)

    def test_the_line_breaks_there_and_reaches_it_from_both_sides(self):
        x, y, _ = branches(np.sign, 1.0)
        (gap,) = np.flatnonzero(np.isnan(y))
        assert x[gap] == 0
        assert (x[gap - 1], y[gap - 1]) == (-5e-324, -1)
        assert (x[gap + 1], y[gap + 1]) == (5e-324, 1)

    def test_a_steep_slope_is_no_jump(self):
        assert branches(lambda x: np.tanh(1e4 * x), 1.0).jumps == ()

    def test_a_corner_is_on_the_line(self):
        x, y, jumps = branches(np.abs, 1.0)
        assert jumps == ()
        assert y[x == 0] == 0


class TestGradient:
    def test_it_returns_the_axes_it_was_given(self, ax):
        assert plot.gradient("sign", "hardtanh", ax=ax) is ax

    def test_the_edges_of_a_window_are_closed(self, ax):
        plot.gradient("sign", "hardtanh", ax=ax)
        filled, hollow = markers(ax, "C0")
        assert filled == [(-1, 1), (1, 1)]
        assert hollow == [(-1, 0), (1, 0)]

    def test_a_shared_tie_is_between_its_limits(self, ax):
        plot.gradient("clip", "half", ax=ax)
        filled, hollow = markers(ax, "C0")
        assert filled == [(-1, 0.5), (1, 0.5)]
        assert hollow == [(-1, 0), (-1, 1), (1, 0), (1, 1)]

    def test_the_forward_is_drawn_with_its_jumps(self, ax):
        plot.gradient("floor", "sine", ax=ax, reach=1.25)
        y = line(ax, "floor(x)").get_ydata()
        assert sorted(set(y[~np.isnan(y)])) == [-2, -1, 0, 1]
        assert np.isnan(y).sum() == 3

    def test_the_curve_is_the_reference(self, ax):
        plot.gradient("sign", "tanh(slope=2)", ax=ax)
        x, y = line(ax, "tanh(slope=2.0)").get_data()
        np.testing.assert_array_equal(y, surrogate.reference.vjp("sign", "tanh(slope=2)", x)[0])

    def test_title_legend_and_labels(self, ax):
        plot.gradient("heaviside", "boxcar", ax=ax)
        assert ax.get_title() == "heaviside:boxcar(width=0.5, height=1.0)   (values = 0.5)"
        assert ax.get_xlabel() == "x (dimensionless)"
        assert ax.get_ylabel() == "value, and derivative by x (dimensionless)"
        assert [text.get_text() for text in ax.get_legend().get_texts()] == [
            "heaviside(x, values)",
            "boxcar(width=0.5, height=1.0)",
            "value at a jump",
            "limit from one side",
        ]

    def test_the_markers_are_explained_only_where_there_are_any(self, ax):
        plot.gradient("relu", "sigmoid", ax=ax)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["relu(x)", "sigmoid(slope=4.0)"]

    def test_relu6_is_drawn_beyond_its_edge(self, ax):
        plot.gradient("relu6", "guided", ax=ax)
        assert ax.get_xlim()[1] > 6

    def test_new_axes_are_made_when_none_are_given(self):
        ax = plot.gradient("sign", "hardtanh")
        assert ax.get_title() == "sign:hardtanh(width=1.0)"
        matplotlib.pyplot.close(ax.figure)

    def test_an_unknown_gradient_is_an_error(self, ax):
        with pytest.raises(surrogate.UnknownGradientError, match="hardtanh"):
            plot.gradient("sign", "hardtan", ax=ax)


class TestOp:
    @pytest.mark.parametrize("op", surrogate.ops())
    def test_all_gradients_are_drawn_and_named(self, op, ax):
        plot.op(op, ax=ax)
        first, *labels = [text.get_text() for text in ax.get_legend().get_texts()]
        names = [word.partition("(")[0] for label in labels for word in re.split(r", (?!\w+=)|: ", label)]
        named = list(dict.fromkeys(name for name in names if name in surrogate.gradients(op)))
        assert sorted(named) == sorted(surrogate.gradients(op))
        assert first.startswith(f"{op}(")

    def test_constants_of_one_value_are_one_line_and_other_values_look_otherwise(self, ax):
        plot.op("mod", ax=ax)
        one, zero = line(ax, "exact, identity: 1"), line(ax, "straight_through: 0")
        assert set(one.get_ydata()) == {1.0}
        assert set(zero.get_ydata()) == {0.0}
        assert one.get_linestyle() == zero.get_linestyle() == "--"
        assert one._unscaled_dash_pattern != zero._unscaled_dash_pattern

    @pytest.mark.parametrize("by", ["x", "y"])
    def test_the_derivative_by_each_input_is_drawn(self, ax, by):
        plot.op("mod", ["sine"], ax=ax, by=by)
        x, y = line(ax, "sine").get_data()
        there = ~np.isnan(y)
        expected = surrogate.reference.vjp("mod", "sine", x[there], np.ones(there.sum()))["xy".index(by)]
        np.testing.assert_array_equal(y[there], expected)
        assert ax.get_ylabel() == f"value, and derivative by {by} (dimensionless)"

    def test_an_unknown_input_is_an_error(self, ax):
        with pytest.raises(surrogate.UnknownNameError, match="unknown input 'z' of mod"):
            plot.op("mod", ax=ax, by="z")

    def test_one_that_depends_on_the_upstream_gradient_is_drawn_for_both_its_signs(self, ax):
        plot.gradient("relu", "guided", ax=ax)
        x, up = line(ax, "guided, g = 1").get_data()
        _, down = line(ax, "guided, g = −1").get_data()
        assert up[x > 0].min() == 1
        assert np.nanmax(np.abs(down)) == 0

    def test_a_dark_style_gives_a_dark_picture(self):
        with matplotlib.style.context("dark_background"):
            ax = Figure().add_subplot()
            plot.op("mod", ax=ax)
        assert line(ax, "exact, identity: 1").get_color() == "white"
        assert {one.get_markerfacecolor() for one in ax.lines if one.get_marker() == "o"} == {
            (0.0, 0.0, 0.0, 1.0),
            "0.55",
        }

    def test_only_those_that_are_asked_for(self, ax):
        plot.op("sign", ["tanh(slope=2)", "larq:ste_sign"], ax=ax)
        assert [text.get_text() for text in ax.get_legend().get_texts()][1:3] == [
            "tanh(slope=2.0)",
            "hardtanh(width=1.0)",
        ]

    def test_the_recommended_one_stands_out(self, ax):
        plot.op("sign", ax=ax)
        width = line(ax, "hardtanh(width=1.0)").get_linewidth()
        assert width > line(ax, "tanh(slope=1.0)").get_linewidth()


def test_the_gallery_has_axes_for_every_gradient(tmp_path, monkeypatch):
    monkeypatch.setattr(plot, "ops", lambda: ["relu6", "abs"])
    figure = plot.gallery(tmp_path / "gallery.png")
    assert [ax.get_title() for ax in figure.axes] == [
        *("relu6\ndeconvnet", "relu6\nguided", "relu6\nidentity"),
        "abs\nsign0",
    ]
    assert (tmp_path / "gallery.png").read_bytes().startswith(b"\x89PNG")


def test_importing_surrogate_imports_neither_matplotlib_nor_the_pictures():
    code = "import surrogate, sys; print('matplotlib' in sys.modules, 'surrogate.plot' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False False\n"


def test_without_matplotlib_the_command_that_installs_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(surrogate.MissingExtraError, match=r"pip install \"surrogate-gradients\[plot\]\""):
        plot.gradient("sign", "hardtanh")


class TestAPacksOp:
    """An op of a pack, of two inputs, about whose second nothing is said."""

    @pytest.fixture(autouse=True)
    def op(self):
        from surrogate._registry import registry

        registry.add_op(surrogate.Op("steps", ("x", "y"), lambda x, y: np.floor(x / y) * y))
        surrogate.register("steps", name="straight")(lambda xp, x, y: (xp.abs(x) <= y, 2.0))
        yield
        for table in (registry._ops, registry._formulas, registry._presets):
            del table["steps"]

    def test_it_is_drawn_with_the_second_held(self, ax):
        plot.op("steps", ax=ax)
        assert "y = 3" in ax.get_title()

    def test_it_is_shown_and_drawn_on_the_command_line(self, tmp_path, monkeypatch):
        from click.testing import CliRunner

        from surrogate.cli import cli

        monkeypatch.setattr(plot, "ops", lambda: ["steps"])  # --all draws two hundred axes
        for words in (["show", "steps:straight"], ["plot", "--all", "-o", str(tmp_path / "all.png")]):
            done = CliRunner().invoke(cli, words)
            assert done.exit_code == 0, done.output
