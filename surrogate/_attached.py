"""Rules that belong to a module of a model: in force inside its forward, and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from surrogate._by_name import rules_by_name
from surrogate._override import override


class Attached:
    """The forward of one module under rules.

    It lies in the module's ``__dict__``: what copies or pickles that takes it along, and it is no weight.

    Attributes:
        module: the module.
        method: the name of its forward.
        backend: the backend's name.
        rules: the op mapping.
        on: whether it has not been undone.
        before: what lay in its place: somebody's own forward, rules that were attached before, or nothing.
    """

    def __init__(self, module: Any, method: str, backend: str, rules: Mapping[str, Any]) -> None:
        self.module, self.method, self.backend, self.rules, self.on = module, method, backend, rules, True
        self.before: Any = None
        self._run, self._identity = _under(backend, rules)

    def put_on(self) -> Attached:
        """Put it over what is there; or what was the same there before, which a compiler may know."""
        members = vars(self.module)
        self.before = members.get(self.method)
        one: Attached = members.get(_UNDONE, {}).pop(self._key, self)
        one.on, members[self.method] = True, one
        return one

    @property
    def _key(self) -> tuple[str, str, str, int]:
        return self.method, self.backend, self._identity, id(self.before)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inside(self.native, *args, **kwargs)

    def native(self, *args: Any, **kwargs: Any) -> Any:
        """What the module would run without us."""
        if isinstance(self.before, Attached):
            return self.before.native(*args, **kwargs)
        if self.before is not None:
            return self.before(*args, **kwargs)
        return getattr(type(self.module), self.method)(self.module, *args, **kwargs)

    def take_off(self) -> None:
        """Undo it, also where somebody has put a forward of theirs over it meanwhile."""
        self.on = False
        members = vars(self.module)
        if members.get(self.method) is not self:
            return
        left = self.before
        while isinstance(left, Attached) and not left.on:
            left = left.before
        if left is None:
            del members[self.method]
        else:
            members[self.method] = left
        members.setdefault(_UNDONE, _Undone()).keep(self._key, self)

    def _inside(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run ``function`` under these rules, which lie inside those that were attached before."""
        if isinstance(self.before, Attached):
            return self.before._inside(self._own, function, *args, **kwargs)
        return self._own(function, *args, **kwargs)

    def _own(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self._run(function, *args, **kwargs) if self.on else function(*args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_run"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._run, self._identity = _under(self.backend, self.rules)


#: Where a module keeps what was undone.
_UNDONE = "_surrogate_undone"


class _Undone(dict[Any, Attached]):
    """What was undone on a module, to be put on again: compiled code knows it by which object it is.

    It goes with the module, and is nothing that copies and pickles take along.
    """

    def keep(self, key: Any, one: Attached) -> None:
        self.pop(key, None)
        self[key] = one
        while len(self) > 16:  # more than a compiler keeps
            del self[next(iter(self))]

    def __reduce__(self) -> Any:
        return _Undone, ()


class Attachment:
    """What ``attach`` of a backend returns.

    Attributes:
        rules: name of the module -> its op mapping; ``""`` is the model itself.
    """

    def __init__(
        self,
        rules: Mapping[str, Mapping[str, Any]],
        attached: list[Attached],
        undone: Callable[[list[Attached]], object] = lambda attached: None,
    ) -> None:
        self.rules = rules
        self._attached = attached
        self._undone = undone

    def undo(self) -> None:
        """Take the rules off all modules. Undoing twice does nothing."""
        for one in reversed(self._attached):
            one.take_off()
        self._undone(self._attached)
        self._attached = []

    def __repr__(self) -> str:
        return f"<Attachment {dict(self.rules)}>"


def attached(
    modules: Mapping[str, Any], rules: Mapping[str, Any], *, method: str, backend: str
) -> tuple[dict[str, Mapping[str, Any]], list[Attached]]:
    """Put rules on those of the modules that they name; on none if one of the rules is wrong.

    Returns:
        Name -> op mapping of those that got rules, and what was put on them.

    Raises:
        UnknownNameError: a pattern matches no module; with the nearest names. Also what
            :func:`surrogate.override` raises.
    """
    chosen = rules_by_name(rules, modules)
    made = [Attached(modules[name], method, backend, one) for name, one in chosen.items()]
    return dict(chosen), [one.put_on() for one in made]


def _under(backend: str, rules: Mapping[str, Any]) -> tuple[Callable[..., Any], str]:
    """What runs a function under rules, and text that is the same for the same rules."""
    made = override(backend, dict(rules))
    return made(_call), made.inside.identity


def _call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)
