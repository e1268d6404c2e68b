"""Threads and tasks: use() is seen by all, override() by one, and a backward keeps its forward's rules."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import surrogate

X = torch.tensor([-2.0, -0.5, 0.5, 2.0])
OFF, WINDOW, THROUGH = [0.0] * 4, [0.0, 1.0, 1.0, 0.0], [1.0] * 4


def gradient(function=torch.sign):
    leaf = X.clone().requires_grad_()
    return torch.autograd.grad(function(leaf).sum(), leaf)[0].tolist()


def in_thread(function, *args):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *args).result()


def test_a_worker_sees_use_and_not_override():
    with surrogate.override("torch", {"sign": "identity"}):
        assert gradient() == THROUGH
        assert in_thread(gradient) == OFF
        with surrogate.use("torch", {"sign": "hardtanh"}):
            assert in_thread(gradient) == WINDOW
            assert gradient() == THROUGH
            assert in_thread(contextvars.copy_context().run, gradient) == THROUGH


def test_backward_in_another_thread_after_the_block():
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", {"sign": "hardtanh"}):
        y = torch.sign(leaf).sum()
    in_thread(y.backward)
    assert leaf.grad.tolist() == WINDOW


def test_many_threads_each_with_its_own_override():
    specs = {"hardtanh": WINDOW, "identity": THROUGH, "native": OFF}

    def work(spec, expected):
        for _ in range(200):
            with surrogate.override("torch", {"sign": "identity"}):
                gradient()
                inner = surrogate.override("torch", {"sign": spec})
                with inner:
                    assert gradient() == expected
        return True

    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(work, spec, expected) for spec, expected in [*specs.items()] * 2]
        assert all(future.result() for future in done)


def test_tasks_do_not_see_each_other():
    async def task(spec, expected):
        for _ in range(5):
            with surrogate.override("torch", {"sign": spec}):
                await asyncio.sleep(0)
                assert gradient() == expected
                await asyncio.sleep(0)
        assert gradient() == OFF

    async def main():
        await asyncio.gather(task("hardtanh", WINDOW), task("identity", THROUGH))

    asyncio.run(main())


class Deep(torch.autograd.Function):
    """A backward that starts another one: nested deeply, the engine moves it to a thread of its pool."""

    @staticmethod
    def forward(ctx, x, caller, work):
        ctx.caller, ctx.work = caller, work
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        with torch.enable_grad():
            if threading.get_ident() == ctx.caller:
                Deep.apply(X.clone().requires_grad_(), ctx.caller, ctx.work).sum().backward()
            else:
                ctx.work()
        return g, None, None


def on_a_thread_of_the_engine(work):
    Deep.apply(X.clone().requires_grad_(), threading.get_ident(), work).sum().backward()


def test_user_code_on_a_thread_of_the_engine_sees_the_callers_override(fresh_compiler):
    compiled = torch.compile(lambda x: torch.sign(x) * 1.0, backend="aot_eager")
    found = []

    def work():
        found.append(gradient())
        with surrogate.override("torch", {"sign": "identity"}):
            found.append(gradient())
        found.extend(gradient(compiled) for _ in range(2))

    with surrogate.override("torch", {"sign": "hardtanh"}):
        on_a_thread_of_the_engine(work)
    assert found == [WINDOW, THROUGH, WINDOW, WINDOW]


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_recomputation_on_a_thread_of_the_engine(reentrant):
    leaf = X.clone().requires_grad_()
    with surrogate.override("torch", {"sign": "hardtanh"}):
        y = checkpoint(torch.sign, leaf, use_reentrant=reentrant)
    with surrogate.override("torch", {"sign": "identity"}):
        gradient()
        on_a_thread_of_the_engine(lambda: y.sum().backward())
    assert leaf.grad.tolist() == WINDOW


def test_a_hook_sees_the_override_around_the_backward():
    leaf, found = X.clone().requires_grad_(), []

    def hook(g):
        with torch.enable_grad():
            found.append(gradient())

    y = leaf * 2
    y.register_hook(hook)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        y.sum().backward()
    y = leaf * 2
    y.register_hook(hook)
    y.sum().backward()
    assert found == [WINDOW, OFF]


def test_one_compiled_function_in_threads_of_different_rules(fresh_compiler):
    compiled = torch.compile(lambda x: torch.sign(x) * 1.0, backend="aot_eager", fullgraph=True)
    specs = [("hardtanh", WINDOW), ("identity", THROUGH), ("native", OFF)]

    def work(spec):
        with surrogate.override("torch", {"sign": "identity"}):
            gradient()
            with surrogate.override("torch", {"sign": spec}):
                return gradient(compiled)

    for spec, expected in specs:  # compiled one at a time: the compiler itself holds a lock
        assert in_thread(work, spec) == expected
    with ThreadPoolExecutor(3) as pool:
        futures = [(pool.submit(work, spec), expected) for spec, expected in specs * 5]
        assert all(future.result() == expected for future, expected in futures)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_restores(error):
    def work():
        with surrogate.override("torch", {"sign": "identity"}):
            assert gradient() == THROUGH
            raise error

    with pytest.raises(error):
        work()
    assert gradient() == OFF


def test_the_rule_is_decided_by_the_forward():
    leaf = X.clone().requires_grad_()
    before = torch.sign(leaf)
    with surrogate.override("torch", {"sign": "hardtanh"}):
        inside = torch.sign(leaf)
        assert torch.autograd.grad(before.sum(), leaf)[0].tolist() == OFF
        with surrogate.override("torch", {"sign": "identity"}):
            torch.sign(leaf)
            assert torch.autograd.grad(inside.sum(), leaf, retain_graph=True)[0].tolist() == WINDOW
    assert torch.autograd.grad(inside.sum(), leaf)[0].tolist() == WINDOW
