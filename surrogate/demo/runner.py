"""The demo's two trainings: the same network on the same numbers, natively and under an override."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import pkgutil
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from surrogate._backend import Backend
from surrogate._errors import BackendError, UnknownBackendError
from surrogate._framework import framework_version
from surrogate._gradient import Gradient
from surrogate._override import override
from surrogate._plugins import load_backend
from surrogate._registry import Spec
from surrogate._suggest import unknown
from surrogate.auditing import Report as Audit, Trace, report_of
from surrogate.demo import models
from surrogate.demo.digits import make_task
from surrogate.demo.protocol import Task, Train

#: What the override asks for, unless told otherwise: the clipped and the plain straight-through estimator.
RULES: Mapping[str, Spec] = {"sign": "hardtanh", "round": "identity"}

_SUFFIX = "_model"

#: Called with the training's name and the test accuracy after each of its epochs.
OnEpoch = Callable[[str, float], None]


class NoCompilerError(BackendError, ValueError):
    """A compiled training was asked of a backend that claims no compiler."""


@dataclass(frozen=True)
class Training:
    """How one training went.

    Attributes:
        accuracies: share of the test images classified right: untrained, then after each epoch.
        reached: share of the weights whose gradient was not 0 at least once.
        seconds: wall-clock time, compilation included.
    """

    accuracies: list[float]
    reached: float
    seconds: float

    @property
    def untrained(self) -> float:
        """The test accuracy before the first step."""
        return self.accuracies[0]

    @property
    def accuracy(self) -> float:
        """The test accuracy after the last epoch."""
        return self.accuracies[-1]


@dataclass(frozen=True)
class Report:
    """What the demo found.

    Attributes:
        backend, framework, version: the backend, its framework and that framework's version.
        rules: the gradients that were in force in the second training.
        hits: how often each op was captured.
        audit: of the first gradient that the native training asks for: what costs the weights theirs.
        native, surrogate: the two trainings.
    """

    backend: str
    framework: str
    version: str
    epochs: int
    seed: int
    compiled: bool
    rules: dict[str, Gradient]
    hits: dict[str, int]
    audit: Audit
    native: Training
    surrogate: Training

    def plain(self) -> dict[str, Any]:
        """The report as JSON-ready data; gradients by their specs."""

        def training(one: Training) -> dict[str, Any]:
            return {"accuracy": one.accuracy, "untrained": one.untrained, **asdict(one)}

        return {
            "backend": self.backend,
            "framework": {"name": self.framework, "version": self.version},
            "epochs": self.epochs,
            "seed": self.seed,
            "compiled": self.compiled,
            "rules": {op: gradient.spec for op, gradient in self.rules.items()},
            "hits": self.hits,
            "audit": self.audit.to_json(),
            "native": training(self.native),
            "surrogate": training(self.surrogate),
        }


def available() -> list[str]:
    """Names of the backends that the demo has a network for; imports no framework."""
    return [
        name.removesuffix(_SUFFIX)
        for _, name, _ in pkgutil.iter_modules(models.__path__)
        if name.endswith(_SUFFIX)
    ]


def run(
    backend: str = "autograd",
    rules: Mapping[str, Spec] | None = None,
    *,
    epochs: int = 30,
    seed: int = 0,
    compiled: bool = False,
    on_epoch: OnEpoch = lambda name, accuracy: None,
) -> Report:
    """Audit the network, train it natively, then under ``surrogate.override(backend, {**RULES, **rules})``.

    Args:
        backend: whose framework to use.
        rules: gradients to use instead of, or besides, :data:`RULES`.
        epochs: how many times to go through the training images, at least 1.
        seed: of the split, the weights and the order of the images.
        compiled: compile the training step.
        on_epoch: called with ``"native"`` or ``"surrogate"`` and the test accuracy after each epoch.

    Raises:
        UnknownBackendError, MissingFrameworkError, BrokenBackendError, IncompatibleFrameworkError:
            the backend cannot be had, or the demo has no network for it.
        NoCompilerError: ``compiled``, and the backend does not claim ``"compile"``.
        MissingExtraError: scikit-learn is not installed.
        And what :func:`surrogate.override` raises for wrong rules; all of it before any training.
    """
    found = load_backend(backend)
    train = _model(found.name)
    if compiled and "compile" not in found.transforms:
        raise NoCompilerError(f"the backend {found.name!r} has no compiler: leave --compile out.")
    scope = override(found, {**RULES, **(rules or {})})
    task = make_task(epochs=epochs, seed=seed, compiled=compiled)

    audit = _audit(found, dataclasses.replace(task, compiled=False))
    native = _train_natively(train, task, "native", on_epoch)
    if scope.rules:
        with scope:
            surrogate = _train(train, task, "surrogate", on_epoch)
    else:
        surrogate = _train_natively(train, task, "surrogate", on_epoch)
    return Report(
        backend=found.name,
        framework=found.framework,
        version=framework_version(found),
        epochs=epochs,
        seed=seed,
        compiled=compiled,
        rules=dict(scope.rules),
        hits=dict(scope.hits),
        audit=audit,
        native=native,
        surrogate=surrogate,
    )


def _model(name: str) -> Train:
    if name not in available():
        raise UnknownBackendError(
            unknown("network", name, available(), where=" of the demo")
            + f" Write one as surrogate.demo.protocol says, in surrogate/demo/models/{name}{_SUFFIX}.py."
        )
    module = importlib.import_module(f"{models.__name__}.{name}{_SUFFIX}")
    return cast(Train, module.train)


class _Seen(BaseException):
    """The first gradient was recorded: the training is stopped."""


def _audit(backend: Backend, task: Task) -> Audit:
    """The audit of the network as it is, at its first step.

    Its file is run once more under watch: it may import what makes gradients by name.
    """
    spec = importlib.util.find_spec(f"{models.__name__}.{backend.name}{_SUFFIX}")
    assert spec is not None
    assert spec.loader is not None
    model = importlib.util.module_from_spec(spec)
    traces: list[Trace] = []

    def caught(trace: Trace) -> None:
        traces.append(trace)
        raise _Seen

    with contextlib.suppress(_Seen), warnings.catch_warnings(), backend.intercept(caught):
        warnings.simplefilter("ignore")
        spec.loader.exec_module(model)
        model.train(task, lambda accuracy: None)
    return report_of(traces[0])


def _train_natively(train: Train, task: Task, name: str, on_epoch: OnEpoch) -> Training:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some frameworks notice that nothing depends on the weights
        return _train(train, task, name, on_epoch)


def _train(train: Train, task: Task, name: str, on_epoch: OnEpoch) -> Training:
    start = time.perf_counter()
    accuracies, reached = train(task, lambda accuracy: on_epoch(name, accuracy))
    return Training(accuracies, reached, time.perf_counter() - start)
