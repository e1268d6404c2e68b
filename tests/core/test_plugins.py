"""Plugins: found by metadata, loaded by name, and one that is broken breaks nothing else."""

import importlib
import sys
import textwrap
import warnings

import numpy as np
import pytest

import surrogate
from surrogate import _plugins

GOOD = """
import surrogate

class Good(surrogate.Backend):
    name = "{name}"
    framework = "numpy"
    ops = frozenset({{"sign"}})
    xp = None
    def apply(self, rules, scope): pass
    def asarray(self, x): return x
    def numpy(self, x): return x
    def call(self, op, *inputs, **attributes): pass
    def grad(self, f, inputs, g): pass

@surrogate.hookimpl
def surrogate_backend(name):
    return Good() if name == "{name}" else None
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a distribution with one plugin module: real metadata on sys.path."""
    monkeypatch.syspath_prepend(tmp_path)
    loaded = dict(_plugins._loaded)
    made = []

    def put(name, text, *, group=_plugins.BACKENDS, extras=(), distribution=None):
        module = f"plugin_{name}"
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(text))
        distribution = distribution or f"dist-{name}"
        info = tmp_path / f"{distribution.replace('-', '_')}-1.2.dist-info"
        info.mkdir()
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", "Version: 1.2"]
        (info / "METADATA").write_text("\n".join([*lines, *(f"Provides-Extra: {e}" for e in extras), "", ""]))
        (info / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}\n")
        made.append(module)
        importlib.invalidate_caches()
        return module

    yield put
    for module in made:
        sys.modules.pop(module, None)
    for plugin_name, plugin in list(_plugins.manager.list_name_plugin()):
        if getattr(plugin, "__name__", "") in made:
            _plugins.manager.unregister(name=plugin_name)
    _plugins._loaded.clear()
    _plugins._loaded.update(loaded)


def test_a_backend_is_listed_from_metadata_and_not_imported(install):
    module = install("good", GOOD.format(name="good"))
    assert "good" in surrogate.backends()
    assert module not in sys.modules


def test_a_backend_is_loaded_on_first_use_and_once(install):
    module = install("good", GOOD.format(name="good"))
    with surrogate.override("good", {"sign": "native"}) as scope:
        assert scope.backend == "good"
    assert module in sys.modules
    assert surrogate.load_backend("good") is surrogate.load_backend("good")


def test_what_a_backend_captures_while_it_loads_is_no_excuse_for_an_override_that_captures_nothing(install):
    text = GOOD.format(name="good").replace("    return Good() if", "    return tried(Good()) if")
    text += """
def tried(backend):
    backend.transforms = frozenset({"compile"})
    with surrogate.override(backend, {"sign": "identity"}):
        backend.state().captured("sign")
    return backend
"""
    install("good", text)
    with pytest.warns(surrogate.NothingCapturedWarning):
        with surrogate.override("good", {"sign": "identity"}):
            pass


def test_an_unknown_backend_gets_a_suggestion(install):
    install("good", GOOD.format(name="good"))
    with pytest.raises(surrogate.UnknownBackendError, match="did you mean 'good'"):
        surrogate.use("god")


@pytest.mark.parametrize("name", [None, 3, ["torch"]])
def test_a_backend_of_the_wrong_type_is_refused(name):
    with pytest.raises(surrogate.SpecError, match="named by a string"):
        surrogate.use(name)


@pytest.mark.parametrize(
    ("extras", "command"), [((), "pip install dist-needy"), (("needy",), 'pip install "dist-needy[needy]"')]
)
def test_a_missing_framework_gives_the_exact_command(install, extras, command):
    install("needy", "import a_framework_nobody_has", extras=extras)
    with pytest.raises(surrogate.MissingFrameworkError) as caught:
        surrogate.use("needy")
    assert "'a_framework_nobody_has'" in str(caught.value)
    assert command in str(caught.value)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize(
    ("text", "cause", "message"),
    [
        ("1 / 0", ZeroDivisionError, "division by zero"),
        ("from numpy import no_such_name", ImportError, "no_such_name"),
        ("import plugin_broken.missing_part", ModuleNotFoundError, "missing_part"),
        ("import sys; sys.exit", TypeError, "returned None"),
        (GOOD.format(name="other"), TypeError, "returned None"),
        (
            GOOD.format(name="broken").replace("@surrogate.hookimpl", ""),
            TypeError,
            "write @surrogate.hookimpl",
        ),
        (
            "import surrogate\n@surrogate.hookimpl\ndef surrogate_backend(name): return 3",
            TypeError,
            "not a surrogate.Backend",
        ),
        (
            GOOD.format(name="other").replace(' if name == "other" else None', ""),
            TypeError,
            "the entry point and the class must have the same name",
        ),
        (
            "import surrogate\n@surrogate.hookimpl\ndef surrogate_backned(name): pass",
            TypeError,
            "unknown hook 'surrogate_backned': did you mean 'surrogate_backend'",
        ),
        (
            "import surrogate\n@surrogate.hookimpl\ndef surrogate_backend(name): raise OSError('disk')",
            OSError,
            "disk",
        ),
    ],
    ids=[
        "raises",
        "import",
        "own part",
        "no hook",
        "wrong name",
        "unmarked",
        "no backend",
        "another's name",
        "misspelt hook",
        "hook raises",
    ],
)
def test_a_broken_plugin_says_why_and_breaks_nothing_else(install, text, cause, message):
    install("broken", text)
    install("good", GOOD.format(name="good"))
    for _ in range(2):
        with pytest.raises(surrogate.BrokenBackendError, match="the backend 'broken'") as caught:
            surrogate.use("broken")
        assert isinstance(caught.value.__cause__, cause)
        assert message in str(caught.value)
    with surrogate.override("good", {"sign": "native"}):
        pass


def test_an_error_of_ours_passes_through(install):
    install("old", "import surrogate\nraise surrogate.IncompatibleFrameworkError('hook x is gone')")
    with pytest.raises(surrogate.IncompatibleFrameworkError, match="hook x is gone"):
        surrogate.use("old")


def test_a_plugin_can_be_disabled_by_name(install, monkeypatch):
    install("good", GOOD.format(name="good"))
    monkeypatch.setenv("SURROGATE_DISABLED_PLUGINS", "other, good")
    assert "good" not in surrogate.backends()
    with pytest.raises(surrogate.UnknownBackendError, match="SURROGATE_DISABLED_PLUGINS"):
        surrogate.use("good")


def test_register_backend_needs_no_packaging(toy):
    before = dict(_plugins._loaded)
    try:
        surrogate.register_backend(toy)
        assert "toy" in surrogate.backends()
        assert surrogate.load_backend("toy") is toy
    finally:
        _plugins._loaded.clear()
        _plugins._loaded.update(before)
    with pytest.raises(surrogate.SpecError, match="is not a surrogate"):
        surrogate.register_backend("torch")


PACK = """
import numpy as np
import surrogate

def bump(xp, x):
    return 1 / (1 + xp.square(x))

@surrogate.hookimpl
def surrogate_ops():
    return [surrogate.Op("cbrt_test", ("x",), np.cbrt, default="bump")]

@surrogate.hookimpl
def surrogate_gradients():
    return [surrogate.Definition("sign", bump, name="pack_bump"), surrogate.Definition("cbrt_test", bump)]
"""


@pytest.fixture
def forget_ops():
    registry = surrogate._registry.registry
    ops = dict(registry._ops)
    yield
    registry._ops.clear()
    registry._ops.update(ops)


@pytest.mark.usefixtures("forget_ops")
def test_a_pack_adds_ops_and_gradients_on_the_first_listing(install):
    install("pack", PACK, group=_plugins.PACKS)
    surrogate._registry.registry.on_first_listing(_plugins.load_packs)
    assert surrogate.reference.vjp("sign", "pack_bump", 1.0)[0] == 0.5
    assert "cbrt_test" in surrogate.ops()
    assert surrogate.gradients("cbrt_test") == ["bump"]


@pytest.mark.usefixtures("forget_ops")
def test_a_broken_pack_is_left_out_with_a_warning(install):
    install("bad_pack", "1 / 0", group=_plugins.PACKS)
    install("pack", PACK, group=_plugins.PACKS)
    surrogate._registry.registry.on_first_listing(_plugins.load_packs)
    with pytest.warns(surrogate.SurrogateWarning, match="'bad_pack'.*division by zero"):
        names = surrogate.gradients("sign")
    assert "pack_bump" in names


BAD_PACKS = {
    "unmarked": (
        PACK.replace("@surrogate.hookimpl\ndef surrogate_gradients", "def surrogate_gradients"),
        "surrogate_gradients is not marked: write @surrogate.hookimpl",
    ),
    "unknown op": (PACK.replace('Definition("cbrt_test"', 'Definition("cbrt_tset"'), "mean 'cbrt_test'"),
    "name taken": (PACK.replace('name="pack_bump"', 'name="tanh"'), "sign:tanh is already registered"),
    "unknown default": (PACK.replace('default="bump"', 'default="bmup"'), "did you mean 'bump'"),
    "no list": (PACK.replace('[surrogate.Op("cbrt_test", ("x",), np.cbrt, default="bump")]', "3"), "list of"),
    "a function": (PACK.replace('surrogate.Definition("cbrt_test", bump)', "bump"), "Definition is wanted"),
    "one definition": (PACK.split("[surrogate.Def")[0] + 'surrogate.Definition("sign", bump)', "a list of"),
    "op's name": (PACK.replace('Op("cbrt_test"', 'Op("cbrt test"'), "not 'cbrt test'"),
    "op's inputs": (PACK.replace('("x",)', '"x"'), "are a tuple of names"),
    "op's forward": (PACK.replace("np.cbrt", "None"), "needs a forward"),
}


@pytest.mark.usefixtures("forget_ops")
@pytest.mark.parametrize(("text", "message"), BAD_PACKS.values(), ids=BAD_PACKS)
def test_a_pack_that_is_wrong_somewhere_is_left_out_as_a_whole(install, text, message):
    install("half", text, group=_plugins.PACKS)
    surrogate._registry.registry.on_first_listing(_plugins.load_packs)
    with pytest.warns(surrogate.SurrogateWarning, match=message) as caught:
        assert "cbrt_test" not in surrogate.ops()
    assert ".." not in str(caught[0].message)
    assert "pack_bump" not in surrogate.gradients("sign")


@pytest.mark.parametrize(
    ("tested", "warns"),
    [("0.7.2, 0.10.2 and 0.12.0", True), ("1.0 to 1.9", True), ("1.0 to 999.0", False), ("", False)],
)
def test_a_framework_that_is_newer_than_tested_is_told_once(install, tested, warns):
    install("newer", GOOD.format(name="newer").replace("ops =", f"tested = {tested!r}\n    ops ="))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        surrogate.load_backend("newer")
        surrogate.load_backend("newer")
    told = [str(one.message) for one in caught]
    assert len(told) == warns
    assert all("newer than what" in text and "surrogate check newer" in text for text in told)


def test_the_warning_as_an_error_leaves_the_backend_loaded(install):
    install("newer", GOOD.format(name="newer").replace("ops =", "tested = '1.0'\n    ops ="))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(surrogate.SurrogateWarning, match="newer than what"):
            surrogate.load_backend("newer")
        assert surrogate.load_backend("newer").name == "newer"


def test_a_patch_of_a_tested_release_is_not_newer(install):
    major, minor = np.__version__.split(".")[:2]
    install("newer", GOOD.format(name="newer").replace("ops =", f"tested = '{major}.{minor}.0'\n    ops ="))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        surrogate.load_backend("newer")


def test_a_framework_that_is_not_installed_is_not_called_incompatible():
    with pytest.raises(ModuleNotFoundError):
        surrogate.check_hooks(
            "no_such_framework", [surrogate.Hook("no_such_framework.inner:name", "why")], "1"
        )
    with pytest.raises(surrogate.IncompatibleFrameworkError, match=r"json .* has no json.nothing \(why\)"):
        surrogate.check_hooks("json", [surrogate.Hook("json:nothing", "why")], "1")
