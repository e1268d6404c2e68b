"""Who sees an override, and that nothing is left behind."""

import asyncio
import contextvars
import gc
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_modes
from surrogate_tensorflow import _hooks

import surrogate

WINDOW, ZERO = [0.0, 1.0, 1.0, 0.0], [0.0] * 4


def slope(x, f=tf.sign):
    return tensorflow_modes.eager(f, x).numpy().tolist()


def in_thread(function, *args):
    found = []
    thread = threading.Thread(target=lambda: found.append(function(*args)))
    thread.start()
    thread.join()
    return found[0]


def override(spec="hardtanh"):
    return surrogate.override("tensorflow", {"sign": spec})


def test_override_is_for_this_thread_and_use_for_all(x):
    with override():
        assert slope(x) == WINDOW
        assert in_thread(slope, x) == ZERO
    with surrogate.use("tensorflow", {"sign": "hardtanh"}):
        assert slope(x) == WINDOW
        assert in_thread(slope, x) == WINDOW
    assert slope(x) == ZERO


def test_a_copied_context_takes_it_along(x):
    with override():
        context = contextvars.copy_context()
        slope(x)
    assert slope(x) == ZERO
    assert in_thread(context.run, slope, x) == WINDOW  # also when nothing else is in force any more


def test_async_tasks_are_apart(x):
    async def inside():
        with override():
            await asyncio.sleep(0)
            return slope(x)

    async def outside():
        await asyncio.sleep(0)
        return slope(x)

    async def both():
        return await asyncio.gather(inside(), outside(), inside())

    assert asyncio.run(both()) == [WINDOW, ZERO, WINDOW]


def test_a_task_outlives_the_block_it_was_started_in(x):
    async def late(ready):
        await ready.wait()
        return slope(x)

    async def main():
        ready = asyncio.Event()
        with override():
            task = asyncio.create_task(late(ready))
            slope(x)
        ready.set()
        return await task

    assert asyncio.run(main()) == WINDOW


def test_a_decorated_generator_keeps_it_inside(x):
    @override()
    def steps():
        while True:
            yield slope(x)

    generator = steps()
    for _ in range(2):
        assert next(generator) == WINDOW
        assert slope(x) == ZERO
    generator.close()
    assert slope(x) == ZERO


def test_native_cuts_a_hole(x):
    with override():
        with surrogate.override("tensorflow", {"sign": "native"}):
            assert slope(x) == ZERO
            assert slope(x, tf.function(tf.sign)) == ZERO
        assert slope(x) == WINDOW


def test_nothing_is_left_when_the_last_override_ends(x):
    hooks = (_hooks.fast_path, _hooks.apply_op, _hooks.function_context)

    def native():
        gc.collect()
        return [hook.now is hook.native for hook in hooks]

    assert all(native())
    with override():
        slope(x)
        assert not any(native())
        assert in_thread(slope, x) == ZERO
    assert all(native())
    with pytest.raises(ZeroDivisionError), override():
        raise ZeroDivisionError
    assert all(native())
    handle = surrogate.use("tensorflow", {"sign": "hardtanh"})
    slope(x)
    assert not any(native())
    handle.undo()
    assert all(native())


def test_hits_count_captures(x):
    with surrogate.override("tensorflow", {"sign": "hardtanh", "floor": "identity"}) as o:
        slope(x)
        slope(x, tf.function(tf.sign))
        tf.sign(x)  # no tape: nothing is recorded
    assert o.hits == {"sign": 2, "floor": 0}


def test_captured_nothing_warns(x):
    with pytest.warns(surrogate.NothingCapturedWarning, match="floor"):
        with surrogate.override("tensorflow", {"floor": "clipped(lo=-9, hi=9)"}):
            slope(x)


def test_captured_nothing_warns_though_the_gradient_was_captured_eagerly_before(x):
    spec = "hardtanh(width=1.625)"  # used nowhere else
    with surrogate.override("tensorflow", {"sign": spec}):
        slope(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sign(x)
    with pytest.warns(surrogate.NothingCapturedWarning, match="sign"):
        with surrogate.override("tensorflow", {"sign": spec}):
            tape.gradient(y, x)


def test_a_function_that_was_traced_before_does_not_warn(x):
    compiled = tf.function(tf.sign)
    for _ in range(2):
        with surrogate.override("tensorflow", {"sign": "hardtanh(width=1.875)"}):
            slope(x, compiled)


def test_an_untouched_relu6_is_no_relu(x):
    with pytest.warns(surrogate.NothingCapturedWarning, match="relu"):
        with surrogate.override("tensorflow", {"relu": "leaky(leak=0.75)"}):  # used nowhere else
            slope(x, tf.nn.relu6)
    with surrogate.override("tensorflow", {"relu6": "guided"}) as o:
        assert slope(x, tf.nn.relu6) == [0.0, 0.0, 1.0, 1.0]
    assert o.hits["relu6"] == 1


class TestOnlyTheUsersOps:
    """Promise 4."""

    @pytest.mark.parametrize("mode", ["eager", "outer", "inner"])
    def test_the_second_derivative_of_abs(self, mode, x):
        run = tensorflow_modes.ALL[mode]
        with override("identity"):
            found = run(lambda x: x * tensorflow_modes.eager(lambda v: v * tf.abs(v), x), x)
            slope(x)
        np.testing.assert_array_equal(found, 4 * np.abs(x))

    def test_composites_keep_their_native_gradient(self, x):
        def f(x):
            return keras.ops.quantile(x, 0.3) + 0.0 * x

        native = slope(x, f)
        with surrogate.override("tensorflow", {"floor": "identity", "ceil": "identity", "clip": "identity"}):
            assert slope(x, f) == native
            slope(x, tf.floor)

    def test_losses_keep_theirs(self, x):
        p = tf.constant([[0.0, 1.0]])

        def f(p):
            return keras.losses.categorical_crossentropy([[1.0, 0.0]], p) + 0.0 * p

        native = slope(p, f)
        with surrogate.override("tensorflow", {"clip": "identity"}):
            assert slope(p, f) == native
            slope(x, lambda x: tf.clip_by_value(x, -1.0, 1.0))

    def test_a_rules_own_functions_see_no_rules(self, x):
        with override("identity"):
            slope(x)
            with surrogate.override("tensorflow", {"round": lambda xp, x: 1.0 + xp.sign(x)}):
                assert slope(x, tf.round) == [0.0, 0.0, 2.0, 2.0]


@pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_a_switch_of_the_hooks_that_was_interrupted_is_done_again(x, monkeypatch, on):
    backend = surrogate.load_backend("tensorflow")
    native, calls = backend._switch, []

    def interrupted(wanted):
        if wanted is on and not calls:
            calls.append(wanted)
            raise KeyboardInterrupt
        native(wanted)

    monkeypatch.setattr(backend, "_switch", interrupted)
    with pytest.raises(KeyboardInterrupt), surrogate.use("tensorflow", {"sign": "hardtanh"}):
        assert not on
    assert slope(x) == ZERO
    with override():
        assert slope(x) == WINDOW
    assert not backend.scope.alive
