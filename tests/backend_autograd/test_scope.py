"""Where and for how long an override is seen, and what is left of it: nothing."""

import asyncio
import contextvars
import gc
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad, make_vjp
from autograd.numpy.numpy_boxes import ArrayBox
from surrogate_autograd._swap import Swap

import surrogate

IDENTITY = {"sign": "identity"}
NATIVE = anp.sign.__code__
X = np.array([-2.0, 0.5, 3.0])

quiet = pytest.mark.filterwarnings("ignore::surrogate.NothingCapturedWarning")
unaware = pytest.mark.filterwarnings("ignore:Output seems independent of input")


def slope():
    """What sign's derivative is here: 0 natively."""
    return make_vjp(lambda x: anp.sign(x) + 0.0 * x)(X)[0](np.ones(3)).tolist()


def hooked():
    return anp.sign.__code__ is not NATIVE


def constant(value):
    def formula(xp, x):
        return value

    return formula


@quiet
class TestHooks:
    @pytest.mark.parametrize("at", ["on", "off"])
    def test_a_switch_that_was_interrupted_is_done_again(self, monkeypatch, at):
        backend = surrogate.load_backend("autograd")
        scope, swap = surrogate.override(backend, IDENTITY), Swap
        name = "install" if at == "on" else "remove"
        native, calls = getattr(swap, name), []

        def interrupted(self):
            calls.append(self)
            if len(calls) == 4:
                raise KeyboardInterrupt
            native(self)

        monkeypatch.setattr(swap, name, interrupted)
        with pytest.raises(KeyboardInterrupt), surrogate.use(backend, IDENTITY):
            raise ValueError if at == "on" else KeyboardInterrupt
        assert not backend.state().rules
        monkeypatch.undo()
        with scope:
            assert hooked()
            assert slope() == [1, 1, 1]
        assert not hooked()

    def test_they_exist_only_inside(self):
        assert not hooked()
        with surrogate.override("autograd", IDENTITY):
            assert hooked()
            with surrogate.override("autograd", {"floor": "identity"}):
                assert hooked()
            assert hooked()
        assert not hooked()

    def test_an_inert_override_needs_none(self):
        scope = surrogate.override("autograd", IDENTITY)
        assert not hooked()
        del scope

    def test_a_hole_alone_needs_none(self):
        with surrogate.override("autograd", {"sign": "native"}):
            assert not hooked()

    def test_they_go_with_the_last_handle(self):
        first, second = surrogate.use("autograd", IDENTITY), surrogate.use("autograd", {"floor": "zero"})
        first.undo()
        assert hooked()
        second.undo()
        assert not hooked()

    def test_they_go_after_an_exception(self):
        with pytest.raises(KeyError), surrogate.override("autograd", IDENTITY):
            raise KeyError
        assert not hooked()

    def test_they_stay_while_a_copied_context_is_inside(self):
        with surrogate.override("autograd", IDENTITY):
            context = contextvars.copy_context()
        assert hooked()
        assert context.run(slope) == [1, 1, 1]
        assert slope() == [0, 0, 0]
        del context
        gc.collect()
        assert not hooked()

    def test_they_stay_while_a_suspended_generator_is_inside(self):
        def steps():
            with surrogate.override("autograd", IDENTITY):
                yield

        generator = steps()
        next(generator)
        assert hooked()
        generator.close()
        assert not hooked()

    def test_a_process_wide_change_does_not_remove_a_local_override_s(self):
        with surrogate.override("autograd", IDENTITY):
            surrogate.use("autograd", {"floor": "identity"}).undo()
            assert slope() == [1, 1, 1]
            gc.collect()
            assert slope() == [1, 1, 1]

    def test_every_op_is_the_same_function_as_before(self):
        before = {name: f for name, f in vars(anp).items() if callable(f)}
        with surrogate.use("autograd"):
            assert {name: f for name, f in vars(anp).items() if callable(f)} == before

    def test_frames_of_caught_functions_can_be_inspected(self):
        """Debuggers and pytest read the local variables of every frame of a traceback."""
        with pytest.raises(surrogate.UnsupportedOpError) as caught, surrogate.override("autograd", IDENTITY):
            make_vjp(lambda x: anp.sign(x, out=np.zeros(3)))(X)
        frames = [entry.frame.f_locals for entry in caught.traceback]
        assert any("catcher" in frame for frame in frames)


@unaware
class TestOtherContexts:
    def test_an_override_is_not_seen_in_another_thread(self):
        with ThreadPoolExecutor(1) as pool, surrogate.override("autograd", IDENTITY):
            assert slope() == [1, 1, 1]
            assert pool.submit(slope).result() == [0, 0, 0]

    def test_use_is_seen_in_another_thread(self):
        with ThreadPoolExecutor(1) as pool:
            with surrogate.use("autograd", IDENTITY):
                assert pool.submit(slope).result() == [1, 1, 1]
            assert pool.submit(slope).result() == [0, 0, 0]

    def test_natively_an_op_gives_no_box(self):
        """There, as without us, a result of floor can index an array."""

        def kinds():
            return elementwise_grad(lambda x: x[anp.floor(x[2] / 2).astype(int)] * x)(X).tolist()

        right = kinds()
        with ThreadPoolExecutor(1) as pool, surrogate.use("autograd", IDENTITY):
            assert slope() == [1, 1, 1]
            assert pool.submit(kinds).result() == right

    def test_natively_the_operators_are_not_supported(self):
        def divide():
            with pytest.raises(
                TypeError, match=r"unsupported operand type\(s\) for //: 'ArrayBox' and 'float'"
            ):
                elementwise_grad(lambda x: x // 2.0)(X)
            with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for divmod\(\)"):
                elementwise_grad(lambda x: divmod(2.0, x)[0])(X)

        divide()
        with ThreadPoolExecutor(1) as pool, surrogate.override("autograd", IDENTITY):
            assert slope() == [1, 1, 1]
            divide()  # a rule for sign is none for //
            pool.submit(divide).result()
        assert not hasattr(ArrayBox, "__floordiv__")

    def test_natively_ops_without_a_derivative_say_so(self):
        def step():
            with pytest.raises(NotImplementedError, match="VJP of heaviside"):
                elementwise_grad(lambda x: anp.heaviside(x, 0.5))(X)

        with ThreadPoolExecutor(1) as pool, surrogate.override("autograd", {"heaviside": "identity"}):
            elementwise_grad(lambda x: anp.heaviside(x, 0.5))(X)
            pool.submit(step).result()

    def test_async_tasks(self):
        async def inside(value, others):
            with surrogate.override("autograd", {"sign": constant(value)}):
                await others.wait()
                return slope()

        async def main():
            barrier = asyncio.Barrier(3)
            return await asyncio.gather(*(inside(v, barrier) for v in (2.0, 3.0, 4.0)))

        assert asyncio.run(main()) == [[v] * 3 for v in (2.0, 3.0, 4.0)]

    def test_eight_threads_of_two_hundred_rounds(self):
        """Each enters and leaves at its own pace: hooks come and go all the time."""
        wrong = []
        start = threading.Barrier(8)

        def rounds(value):
            rules = {"sign": constant(value), "mod": "native"}
            start.wait()
            for _ in range(200):
                if slope() != [0, 0, 0]:
                    wrong.append((value, "outside"))
                with surrogate.override("autograd", rules):
                    if slope() != [value] * 3:
                        wrong.append((value, "inside"))

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-5)
        try:
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(rounds, map(float, range(1, 9))))
        finally:
            sys.setswitchinterval(interval)
        assert wrong == []


class TestDecidedAtForwardTime:
    def test_a_vjp_runs_after_the_block(self):
        with surrogate.override("autograd", IDENTITY):
            vjp, _ = make_vjp(anp.sign)(X)
        assert vjp(np.ones(3)).tolist() == [1, 1, 1]

    def test_a_vjp_runs_under_other_rules_and_in_another_thread(self):
        with surrogate.override("autograd", IDENTITY):
            vjp, _ = make_vjp(anp.sign)(X)
        with ThreadPoolExecutor(1) as pool, surrogate.use("autograd", {"sign": "zero"}):
            assert vjp(np.ones(3)).tolist() == [1, 1, 1]
            assert pool.submit(vjp, np.ones(3)).result().tolist() == [1, 1, 1]
            elementwise_grad(anp.sign)(X)

    def test_a_native_forward_has_a_native_vjp(self):
        vjp, _ = make_vjp(lambda x: anp.sign(x) + 2 * x)(X)
        with surrogate.use("autograd", IDENTITY):
            assert vjp(np.ones(3)).tolist() == [2, 2, 2]
            elementwise_grad(anp.sign)(X)

    def test_a_second_derivative_is_taken_of_the_first_one_s_rule(self):
        with surrogate.override("autograd", {"sign": "tanh"}):
            vjp, _ = make_vjp(lambda x: elementwise_grad(anp.sign)(x))(X)
        right = surrogate.reference.second("sign", "tanh", X)[0]
        np.testing.assert_allclose(vjp(np.ones(3)), right, rtol=1e-15)

    def test_a_recomputation_under_the_captured_state(self):
        backend = surrogate.load_backend("autograd")
        with surrogate.override("autograd", IDENTITY) as used:
            assert slope() == [1, 1, 1]
            state = backend.state()
        with backend.exactly(state):
            assert slope() == [1, 1, 1]
        assert slope() == [0, 0, 0]
        assert used.hits == {"sign": 2}
