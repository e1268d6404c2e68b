"""Generators, coroutines and threads: who sees an override while it is suspended."""

import asyncio
import contextvars
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import surrogate

pytestmark = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")

SIGN = {"sign": "identity"}


def suspended(toy, spec="identity"):
    """A generator that waits inside an override."""
    with surrogate.override(toy, {"sign": spec}):
        yield


class TestGenerators:
    def test_a_block_in_a_suspended_generator_is_seen_by_its_caller(self, toy):
        generator = suspended(toy)
        next(generator)
        assert toy.here == SIGN  # as with numpy.errstate, and documented
        generator.close()
        assert toy.here == {}

    def test_two_suspended_generators_may_end_in_either_order(self, toy):
        first, second = suspended(toy), suspended(toy, "zero")
        next(first)
        next(second)
        first.close()
        assert toy.here == {"sign": "zero"}
        second.close()
        assert toy.here == {}

    def test_one_that_another_thread_has_closed_leaves_nothing_local_behind(self, toy):
        generator = suspended(toy)
        next(generator)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(generator.close).result()
        with surrogate.override(toy, {"sign": "zero"}):
            assert toy.here == {"sign": "zero"}
        assert toy.applied[-1] == (None, "context")
        with surrogate.use(toy, SIGN):
            assert toy.here == SIGN

    def test_a_decorated_generator_is_inside_only_while_it_runs(self, toy):
        @surrogate.override(toy, SIGN)
        def steps():
            received = []
            while len(received) < 2:
                received.append((yield toy.here))
            return received

        generator = steps()
        assert next(generator) == SIGN
        assert toy.here == {}
        assert generator.send("a") == SIGN
        with pytest.raises(StopIteration) as stop:
            generator.send("b")
        assert stop.value.value == ["a", "b"]
        assert toy.here == {}

    def test_a_decorated_generator_handles_throw_and_close(self, toy):
        seen = []

        @surrogate.override(toy, SIGN)
        def steps():
            try:
                yield 1
            except ValueError:
                seen.append(toy.here)
            try:
                yield 2
            finally:
                seen.append(toy.here)

        generator = steps()
        next(generator)
        assert generator.throw(ValueError()) == 2
        generator.close()
        assert seen == [SIGN, SIGN]
        assert toy.here == {}

    def test_a_generator_closed_in_another_thread_is_switched_off_in_its_own(self, toy):
        generator = suspended(toy)
        next(generator)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(generator.close).result()
        assert toy.here == {}

    def test_a_generator_collected_in_its_own_thread_leaves_nothing(self, toy):
        generator = suspended(toy)
        next(generator)
        del generator
        gc.collect()
        assert toy.here == {}

    def test_an_asynchronous_generator_function_is_refused(self, toy):
        async def steps():
            yield 1

        with pytest.raises(surrogate.SpecError, match="asynchronous generator"):
            surrogate.override(toy, SIGN)(steps)


class TestTasks:
    def test_other_tasks_do_not_see_a_suspended_block(self, toy):
        async def inside(entered, leave):
            with surrogate.override(toy, SIGN):
                entered.set()
                await leave.wait()
                return toy.here

        async def main():
            entered, leave = asyncio.Event(), asyncio.Event()
            task = asyncio.create_task(inside(entered, leave))
            await entered.wait()
            outside = toy.here
            leave.set()
            return outside, await task

        assert asyncio.run(main()) == ({}, SIGN)

    def test_a_task_started_inside_a_block_keeps_the_rules_of_its_start(self, toy):
        async def child(leave):
            await leave.wait()
            return toy.here

        async def main():
            leave = asyncio.Event()
            with surrogate.override(toy, SIGN):
                task = asyncio.create_task(child(leave))
            leave.set()
            return await task

        assert asyncio.run(main()) == SIGN

    def test_a_decorated_coroutine_is_inside_across_its_awaits(self, toy):
        @surrogate.override(toy, SIGN)
        async def step():
            before = toy.here
            await asyncio.sleep(0)
            return before, toy.here

        async def main():
            return await step(), toy.here

        assert asyncio.run(main()) == ((SIGN, SIGN), {})

    def test_many_tasks_do_not_mix(self, toy):
        async def task(i):
            width = float(i + 1)
            with surrogate.override(toy, {"sign": f"hardtanh(width={width})"}):
                for _ in range(20):
                    await asyncio.sleep(0)
                    assert toy.here == {"sign": f"hardtanh(width={width})"}

        async def main():
            await asyncio.gather(*(task(i) for i in range(20)))

        asyncio.run(main())
        assert toy.here == {}


class TestThreads:
    def test_override_is_not_seen_by_other_threads_and_use_is(self, toy):
        with surrogate.override(toy, SIGN), surrogate.use(toy, {"round": "zero"}):
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: toy.here).result() == {"round": "zero"}

    def test_a_copied_context_carries_the_override_into_a_thread(self, toy):
        with surrogate.override(toy, SIGN), ThreadPoolExecutor(1) as pool:
            assert pool.submit(contextvars.copy_context().run, lambda: toy.here).result() == SIGN

    def test_what_a_copied_context_carries_is_known_to_be_foreign(self, toy):
        found = []

        def work():
            found.append(toy.store.is_foreign())
            with surrogate.override(toy, {"round": "zero"}):
                found.append(toy.store.is_foreign())
            found.append(toy.store.is_foreign())
            with toy.exactly(None):
                found.append(toy.store.is_foreign())

        with surrogate.override(toy, SIGN), ThreadPoolExecutor(1) as pool:
            pool.submit(contextvars.copy_context().run, work).result()
            assert found == [True, False, True, False]
            pool.submit(work).result()
            assert found[4:] == [False] * 4
            work()
        assert found[8:] == [False] * 4

    def test_eight_threads_with_different_rules_do_not_mix(self, toy):
        barrier = threading.Barrier(8)

        def work(i):
            barrier.wait()
            for n in range(200):
                spec = f"hardtanh(width={1 + (i * 200 + n) % 13})"
                with surrogate.override(toy, {"sign": spec}) as scope:
                    toy.hit("sign")
                    assert toy.state().rules["sign"] == surrogate.gradient("sign", spec)
                    assert scope.hits["sign"] == 1
                assert toy.here == {}

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

    def test_process_wide_handles_of_many_threads_add_up(self, toy):
        def work(i):
            for _ in range(100):
                handle = surrogate.use(toy, {"sign": f"hardtanh(width={i + 1})"})
                assert "sign" in toy.here
                handle.undo()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert toy.here == {}

    def test_captures_from_many_threads_are_all_counted(self, toy):
        with surrogate.use(toy, SIGN) as handle, ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: toy.hit("sign"), range(2000)))
        assert handle.hits == {"sign": 2000}
