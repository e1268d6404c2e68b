"""Ctrl-C at uniformly random moments: afterwards the numbers are what they were, and nothing is in force.

A notebook's stop button, or a time-out by a signal, raises KeyboardInterrupt between any two instructions. A
backend's steps stand in a file of its own, which imports the framework but does not load the backend, and has

- ``BACKEND``, the name, and ``RULES``, the rules of every step;
- ``STEPS``, name -> ``step(scope)``: it runs something inside ``with scope():`` and returns an array of
  numbers (see ``tests/backend_torch/interrupted.py``);
- ``INSTEAD`` (optional), names of exceptions that the framework raises in place of the interrupt;
- ``SPARED`` (optional), names of the framework's functions in which an exception ends the process: while one
  of them runs, the interrupt waits.

Each step is run in every way of putting rules in force (:func:`ways`), in a fork of its own, and also as the
first thing in a process, so that the interrupt falls while the backend is loading. Where afterwards the step
goes wrong *without* any rules, the framework has broken itself: this is counted and is no fault of ours.

By hand: ``python tests/interrupts.py tests/backend_torch/interrupted.py --total 2000 --seed 1``.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import math
import os
import pickle
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import surrogate

Scope = Callable[[], AbstractContextManager[Any]]
Step = Callable[[Scope], Any]
Run = Callable[[], Any]
Rules = Mapping[str, Any]

#: An interrupt that finds no step to fall into after so many times the step's own length was lost.
_PATIENCE = 50

#: Seconds after which an interrupt that was put off is tried again.
_A_LITTLE = 5e-5


def ways(backend: str, rules: Rules) -> dict[str, Callable[[Step], Any]]:
    """Every way of putting rules in force around a step."""

    def override() -> AbstractContextManager[Any]:
        return surrogate.override(backend, rules)

    def nested(step: Step) -> Any:
        with surrogate.override(backend, dict.fromkeys(rules, "native")):
            return step(override)

    return {
        "override": lambda step: step(override),
        "use": lambda step: step(lambda: surrogate.use(backend, rules)),
        "nested": nested,
        "decorated": lambda step: surrogate.override(backend, rules)(step)(nullcontext),
    }


class Alarm:
    """One KeyboardInterrupt, at a moment; a little later while one of the spared functions runs."""

    def __init__(self, spared: Collection[str] = ()) -> None:
        self.pending = False
        self._spared = frozenset(spared)
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, number: int, frame: Any) -> None:
        if _between_use_and_its_block(frame) or self._runs_spared(frame):
            signal.setitimer(signal.ITIMER_REAL, _A_LITTLE)
        elif self.pending:
            self.pending = False
            raise KeyboardInterrupt

    def _runs_spared(self, frame: Any) -> bool:
        while self._spared and frame is not None:
            if frame.f_code.co_name in self._spared:
                return True
            frame = frame.f_back
        return False

    @contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Ring once in the block, or never if it ends before."""
        try:
            self.pending = True
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            yield
        finally:
            self.pending = False
            signal.setitimer(signal.ITIMER_REAL, 0)


def _between_use_and_its_block(frame: Any) -> bool:
    """Whether ``use()`` has begun and the block that is to end it has not: nobody can undo it yet.

    It is a setting of the process, and stays when nobody holds what it returned.
    """
    entered = frame.f_locals.get("manager", frame.f_locals.get("self"))
    inside = frame.f_code.co_filename in (surrogate._ending.__file__, surrogate._override.__file__)
    return inside and isinstance(entered, surrogate.ProcessOverride) and getattr(entered, "_alive", False)


class Round(NamedTuple):
    """What came of one interrupt.

    Attributes:
        raised: by the interrupted run: an exception and where, or nothing.
        wrong: what was wrong afterwards, or nothing.
        native: what is wrong without any rules, or nothing.
    """

    raised: str
    wrong: str = ""
    native: str = ""

    @property
    def kind(self) -> str:
        """The exception's name, or ``"swallowed"``: raised where Python can only print it."""
        broken = "broken framework after " if self.native else ""
        return broken + (self.raised.partition(":")[0] or "swallowed")

    def fault(self, instead: Sequence[str]) -> str:
        """What is to be mended, or nothing. ``instead``: what the framework may raise of its own."""
        if self.native:
            return ""
        if self.wrong:
            return f"{self.wrong}; after {self.raised}"
        return "" if self.kind in ("KeyboardInterrupt", "swallowed", *instead) else self.raised


class Subject:
    """One step in one way, and the numbers that it gives.

    Args:
        backend: the backend's name.
        way: puts the rules in force, see :func:`ways`.
        step: what is run.
        spared: see :class:`Alarm`.
    """

    def __init__(
        self, backend: str, way: Callable[[Step], Any], step: Step, spared: Collection[str] = ()
    ) -> None:
        self._backend, self._way, self._step = backend, way, step
        self.spared = spared

    def run(self) -> Any:
        """Run it under the rules."""
        return np.asarray(self._way(self._step))

    def native(self) -> Any:
        """Run it without rules."""
        return np.asarray(self._step(nullcontext))

    def interrupted(self, alarm: Alarm, seconds: float, expected: Any, native: Any) -> Round:
        """Interrupt it after some time, and look what it gives then."""
        raised = self._interrupt(alarm, seconds)
        wrong = self._left() or _differs(self.run, expected) or self._left()
        return Round(raised, wrong, _differs(self.native, native) if wrong and not self._left() else "")

    def _interrupt(self, alarm: Alarm, seconds: float) -> str:
        end = time.perf_counter() + seconds * _PATIENCE + 1
        try:
            with alarm.after(seconds):
                while alarm.pending and time.perf_counter() < end:
                    self.run()
            return ""
        except BaseException as error:
            return _told(error)

    def _left(self) -> str:
        left = dict(surrogate.active(self._backend))
        return f"{left} is in force" if left else ""


def _differs(run: Run, expected: Any) -> str:
    """How the numbers of a run differ; empty if they do not."""
    try:
        found = run()
    except BaseException as error:
        return _told(error)
    if np.array_equal(found, expected):
        return ""
    return f"{int(np.sum(found != expected))} of {np.size(found)} numbers differ"


def _told(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    places = ", ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-3:])
    return f"{type(error).__name__}: {str(error)[:300]} ({places})"


def interrupt(subject: Subject, rounds: int, chance: random.Random) -> list[Round]:
    """Interrupt it ``rounds`` times, or up to the first fault."""
    alarm, expected, native = Alarm(subject.spared), subject.run(), subject.native()
    length = min(_timed(subject.run)[1] for _ in range(5))
    found: list[Round] = []
    while len(found) < rounds and not (found and found[-1].wrong):
        found.append(subject.interrupted(alarm, chance.random() * length, expected, native))
    return found


def interrupt_loading(subject: Subject, rounds: int, chance: random.Random) -> list[Round]:
    """Interrupt the first run of a process, in one fork for each round."""
    if not rounds:
        return []
    (expected, length), native = _in_fork(lambda: (_timed(subject.run), subject.native()))
    moments = [chance.random() * length for _ in range(rounds)]
    return [
        _in_fork(functools.partial(_interrupt_first, subject, moment, expected, native)) for moment in moments
    ]


def _interrupt_first(subject: Subject, moment: float, expected: Any, native: Any) -> Round:
    return subject.interrupted(Alarm(subject.spared), moment, expected, native)


def _timed(run: Run) -> tuple[Any, float]:
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def _in_fork(function: Callable[[], Any]) -> Any:
    """What the function returns in a fork of this process."""
    source, sink = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(source)
            with os.fdopen(sink, "wb") as stream:
                pickle.dump(function(), stream)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as stream:
        found = stream.read()
    os.waitpid(child, 0)
    if not found:
        raise RuntimeError("the forked process ended without an answer")
    return pickle.loads(found)


def main(arguments: list[str]) -> int:
    """The command line; 0 if nothing was wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, help="a file of steps")
    parser.add_argument("--rounds", type=int, default=25, help="interrupts of each step in each way")
    parser.add_argument("--total", type=int, help="interrupts of all steps together, in place of --rounds")
    parser.add_argument("--loading", type=int, default=5, help="interrupts of the first step of a process")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", nargs="*", help="which, as in what is printed: eager-override")
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    steps = _module(given.file)
    chosen = {
        f"{name}-{way}": Subject(steps.BACKEND, enter, step, getattr(steps, "SPARED", ()))
        for name, step in steps.STEPS.items()
        for way, enter in ways(steps.BACKEND, steps.RULES).items()
        if f"{name}-{way}" in (given.steps or f"{name}-{way}")
    }
    if given.total:
        given.rounds = max(0, math.ceil(given.total / len(chosen)) - given.loading)
    instead = tuple(getattr(steps, "INSTEAD", ()))
    told = [_report(name, subject, given, instead) for name, subject in chosen.items()]
    interrupts, faults, broken = map(sum, zip(*told, strict=True))
    print(f"{interrupts} interrupts, {faults} faults, after {broken} the framework itself was broken")
    return int(faults > 0)


def _report(
    name: str, subject: Subject, given: argparse.Namespace, instead: Sequence[str]
) -> tuple[int, int, int]:
    """Run it in both forms and print what came out: how many interrupts, faults, and broken frameworks."""
    # the backend is never loaded in this process
    first = interrupt_loading(subject, given.loading, random.Random(f"{given.seed} {name}"))
    later: list[Round] = []
    while len(later) < given.rounds and not (later and later[-1].fault(instead)):
        # again, if the framework has broken itself
        chance = random.Random(f"{given.seed} {name} {len(later)}")
        later += _in_fork(functools.partial(interrupt, subject, given.rounds - len(later), chance))
    faults = [fault for one in (*first, *later) if (fault := one.fault(instead))]
    for one in (*first, *later):
        if one.native:
            print(f"  broken framework: {one.native}; after {one.raised}")
    for word, rounds in (("loading", first), ("later", later)):
        print(f"{name}, {word}: {dict(Counter(one.kind for one in rounds))}")
    for fault in faults:
        print(f"  FAULT: {fault}")
    sys.stdout.flush()
    return len(first) + len(later), len(faults), sum(bool(one.native) for one in (*first, *later))


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
