"""Threads, async tasks and generators: no leak, and where contexts are switched unseen a clear error."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from surrogate_jax import _scope

import surrogate

POINT = np.float32(0.25)


def constant(value):
    return _CONSTANTS.setdefault(value, lambda xp, x: value)


_CONSTANTS = {}


def fresh():
    """A jitted gradient that nothing was compiled for."""
    return jax.jit(jax.grad(lambda x: jnp.sign(x)))


def in_thread(f, *args):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(f, *args).result()


def test_another_thread_never_sees_an_override():
    run = fresh()
    with surrogate.override("jax", {"sign": constant(2.0)}):
        assert run(POINT) == 2
        assert in_thread(run, POINT) == 0
        assert run(POINT) == 2


def test_a_pool_that_was_started_inside_a_block_sees_the_default():
    run = fresh()
    with surrogate.use("jax", {"sign": constant(3.0)}), surrogate.override("jax", {"sign": constant(2.0)}):
        with ThreadPoolExecutor(2) as pool:
            assert [float(v) for v in pool.map(run, [POINT] * 4)] == [3.0] * 4
        assert run(POINT) == 2


def test_process_default_reaches_threads_that_run_already():
    run, ready, change = fresh(), threading.Event(), threading.Event()
    found = []

    def work():
        found.append(float(run(POINT)))
        ready.set()
        change.wait()
        found.append(float(run(POINT)))

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    with surrogate.use("jax", {"sign": constant(2.0)}):
        change.set()
        thread.join()
        assert run(POINT) == 2
    assert found == [0.0, 2.0]


def test_threads_that_trace_one_function_at_once():
    run, start = fresh(), threading.Barrier(4)

    def work(value):
        start.wait()
        found = []
        for _ in range(20):
            with surrogate.override("jax", {"sign": constant(value)}):
                found.append(float(run(POINT)))
            found.append(float(run(POINT)))
        return found

    with ThreadPoolExecutor(4) as pool:
        for value, found in zip((1.0, 2.0, 3.0, 4.0), pool.map(work, (1.0, 2.0, 3.0, 4.0)), strict=True):
            assert found == [value, 0.0] * 20


def test_async_tasks_each_see_their_own_rule_in_one_compiled_function():
    run = fresh()

    async def work(value):
        found = []
        for _ in range(3):
            if value:
                with surrogate.override("jax", {"sign": constant(value)}):
                    found.append(float(run(POINT)))
                    await asyncio.sleep(0)
                    found.append(float(run(POINT)))
            await asyncio.sleep(0)
            found.append(float(run(POINT)))
        return found

    async def main():
        return await asyncio.gather(work(2.0), work(0.0), work(3.0))

    two, none, three = asyncio.run(main())
    assert (two, none, three) == ([2.0, 2.0, 0.0] * 3, [0.0] * 3, [3.0, 3.0, 0.0] * 3)
    assert run(POINT) == 0


def test_a_task_that_is_cancelled_inside_leaves_nothing_behind():
    run = fresh()

    async def stuck():
        with surrogate.override("jax", {"sign": constant(2.0)}):
            run(POINT)
            await asyncio.sleep(3600)

    async def main():
        task = asyncio.create_task(stuck())
        await asyncio.sleep(0)
        found = [float(run(POINT))]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return [*found, float(run(POINT))]

    assert asyncio.run(main()) == [0.0, 0.0]
    assert run(POINT) == 0


def test_an_async_generator_left_open_is_closed_without_a_leak():
    run = fresh()

    async def steps():
        with surrogate.override("jax", {"sign": constant(2.0)}):
            yield float(run(POINT))
            yield float(run(POINT))

    async def main():
        found = []
        async for value in steps():
            found.append(value)
            break
        return found

    assert asyncio.run(main()) == [2.0]
    assert run(POINT) == 0


def test_a_copied_context_in_another_thread_raises_and_leaves_nothing_behind():
    with ThreadPoolExecutor(1) as pool:
        with surrogate.override("jax", {"sign": constant(2.0)}):
            context = contextvars.copy_context()
            for run in (jax.grad(lambda x: jnp.sign(x)), fresh()):
                with pytest.raises(surrogate.ScopeError, match="thread or async task only"):
                    pool.submit(context.run, run, POINT).result()
            jax.grad(lambda x: jnp.sign(x))(POINT)
        assert pool.submit(fresh(), POINT).result() == 0


def test_entering_in_a_copied_context_leaves_nothing_behind_in_the_thread():
    """What the copied context says is not what the thread's next job obeys, also where it was compiled."""
    run = fresh()

    def entered():
        with surrogate.override("jax", {"sign": constant(5.0)}):
            return float(run(POINT))

    with ThreadPoolExecutor(1) as pool:
        with surrogate.override("jax", {"sign": constant(2.0)}):
            assert run(POINT) == 2
            assert pool.submit(contextvars.copy_context().run, entered).result() == 5
        assert pool.submit(run, POINT).result() == 0
        assert pool.submit(fresh(), POINT).result() == 0


def test_a_loop_in_a_copied_context_leaves_nothing_behind_in_the_thread():
    run = fresh()

    async def work():
        with surrogate.override("jax", {"sign": constant(5.0)}):
            found = [float(run(POINT))]
            await asyncio.sleep(0)
            return [*found, float(run(POINT))]

    with ThreadPoolExecutor(1) as pool:
        with surrogate.override("jax", {"sign": constant(2.0)}):
            assert run(POINT) == 2
            context = contextvars.copy_context()
            assert pool.submit(context.run, lambda: asyncio.run(work())).result() == [5.0, 5.0]
        assert pool.submit(run, POINT).result() == 0


def test_a_pullback_in_a_copied_context_obeys_its_forward():
    f = jax.custom_vjp(lambda x: jnp.sign(x))
    f.defvjp(lambda x: (jnp.sign(x), x), lambda x, g: jax.vjp(jnp.sign, x)[1](g))
    with ThreadPoolExecutor(1) as pool:
        with surrogate.override("jax", {"sign": constant(2.0)}):
            pull = jax.vjp(f, POINT)[1]
            assert pool.submit(contextvars.copy_context().run, pull, POINT / POINT).result()[0] == 2
        assert pool.submit(fresh(), POINT).result() == 0


def test_to_thread_raises_and_entering_there_works():
    def entered():
        with surrogate.override("jax", {"sign": constant(5.0)}):
            return float(fresh()(POINT))

    async def main():
        with surrogate.override("jax", {"sign": constant(2.0)}):
            assert fresh()(POINT) == 2
            with pytest.raises(surrogate.ScopeError):
                await asyncio.to_thread(fresh(), POINT)
            return await asyncio.to_thread(entered)

    assert asyncio.run(main()) == 5


def test_use_in_another_thread_inside_an_override_raises_once_then_is_right():
    run = fresh()
    with surrogate.override("jax", {"sign": constant(2.0)}):
        assert run(POINT) == 2
        handle = in_thread(surrogate.use, "jax", {"round": constant(3.0)})
        try:
            with pytest.raises(surrogate.ScopeError, match="call once more"):
                jax.jit(jax.grad(lambda x: jnp.sign(x) + jnp.round(x)))(POINT)
            assert jax.jit(jax.grad(lambda x: jnp.sign(x) + jnp.round(x)))(POINT) == 5
            assert run(POINT) == 2
        finally:
            handle.undo()
        jax.grad(lambda x: jnp.sign(x))(POINT)  # an eager gradient is in no cache: it puts the keys in step
        assert run(POINT) == 2
    assert run(POINT) == 0


def test_a_generator_suspended_in_a_block_shows_it_and_takes_it_away():
    run = fresh()

    def steps():
        with surrogate.override("jax", {"sign": constant(2.0)}):
            yield float(run(POINT))

    generator = steps()
    assert next(generator) == 2
    assert run(POINT) == 2  # as with numpy.errstate
    generator.close()
    assert run(POINT) == 0


def test_a_generator_closed_in_another_thread_is_repaired():
    def steps():
        with surrogate.override("jax", {"sign": constant(2.0)}):
            yield float(fresh()(POINT))

    generator = steps()
    assert next(generator) == 2
    in_thread(generator.close)
    assert jax.grad(lambda x: jnp.sign(x))(POINT) == 0
    assert fresh()(POINT) == 0


def test_decorated_functions():
    @surrogate.override("jax", {"sign": constant(2.0)})
    def run():
        return float(fresh()(POINT))

    assert (run(), float(fresh()(POINT)), run()) == (2.0, 0.0, 2.0)


def test_an_exception_restores():
    run = fresh()

    @surrogate.override("jax", {"sign": constant(2.0)})
    def fail():
        run(POINT)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert run(POINT) == 0


def test_a_suspension_that_nobody_will_leave_is_over():
    """An interrupt right after it was entered; a notebook keeps the traceback, and so the block."""
    kept = []

    def interrupted():
        kept.append(_scope.suspended())
        kept[0].__enter__()
        assert _scope.is_suspended()

    interrupted()
    for _ in range(2):
        with surrogate.override("jax", {"sign": constant(3)}) as inside:
            assert jax.grad(lambda x: jnp.sign(x))(POINT) == 3
        assert inside.hits["sign"] == 1
    kept.clear()
    with surrogate.override("jax", {"sign": constant(3)}):
        assert jax.jit(jax.grad(lambda x: jnp.sign(x)))(POINT) == 3
    assert jax.grad(lambda x: jnp.sign(x))(POINT) == 0
