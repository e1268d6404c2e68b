"""Something is in force somewhere: told first and last."""

import threading
import weakref

import pytest

import surrogate
from surrogate._alive import Alive

NOTHING = surrogate.RuleSet({})
RULES = surrogate.RuleSet({"sign": surrogate.gradient("sign", "identity")})


@pytest.fixture
def calls():
    return []


@pytest.fixture
def alive(calls):
    return Alive(lambda: calls.append("on"), lambda: calls.append("off"))


class TestAlive:
    def test_on_with_the_first_and_off_with_the_last(self, alive, calls):
        alive.changed(RULES, "process")
        alive.changed(RULES, "context")
        alive.changed(RULES, "context")
        alive.changed(NOTHING, "process")
        assert calls == ["on"]
        alive.changed(None, "context")
        assert calls == ["on", "off"]

    def test_rules_that_are_empty_are_nothing(self, alive, calls):
        alive.changed(NOTHING, "process")
        alive.changed(NOTHING, "context")
        assert calls == []

    def test_each_thread_counts(self, alive, calls):
        alive.changed(RULES, "context")
        thread = threading.Thread(target=alive.changed, args=(RULES, "context"))
        thread.start()
        thread.join()
        alive.changed(None, "context")
        assert calls == ["on", "off"]

    def test_a_context_that_ends_while_hooks_are_put_on(self, calls):
        """The garbage collector may run at any allocation, also while hooks are being exchanged."""

        def on():
            calls.append("on starts")
            alive.changed(None, "context")  # what collecting the last context does
            calls.append("on ends")

        alive = Alive(on, lambda: calls.append("off"))
        alive.changed(RULES, "process")
        alive.changed(NOTHING, "process")
        assert calls == ["on starts", "on ends", "off"]
        calls.clear()
        late = Alive(
            lambda: (calls.append("on"), late.changed(NOTHING, "process")), lambda: calls.append("off")
        )
        late.changed(RULES, "process")
        assert calls == ["on", "off"]

    def test_it_holds_no_rules(self, alive):
        rules = surrogate.RuleSet({"sign": surrogate.gradient("sign", "hardtanh(width=1.2345)")})
        alive.changed(rules, "context")
        watch = weakref.ref(rules)
        del rules
        assert watch() is None
        alive.changed(None, "context")

    def test_what_else_is_held_counts(self, alive, calls):
        token = alive.hold()
        alive.changed(RULES, "process")
        del token
        assert calls == ["on"]
        alive.changed(NOTHING, "process")
        assert calls == ["on", "off"]

    def test_a_first_that_failed_is_told_again(self, calls):
        def on():
            calls.append("on")
            if len(calls) == 1:
                raise KeyboardInterrupt

        alive = Alive(on, lambda: calls.append("off"))
        with pytest.raises(KeyboardInterrupt):
            alive.changed(RULES, "process")
        alive.changed(NOTHING, "process")
        assert calls == ["on", "off"]
        alive.changed(RULES, "process")
        assert calls == ["on", "off", "on"]
