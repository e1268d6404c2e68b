"""A hook that stands in front of another leaves it the calls that are the user's."""

import subprocess
import sys
import textwrap


def test_an_op_is_caught_beside_a_rule_for_a_native_primitive():
    """From the first rule for a primitive on, every op stayed native in silence."""
    script = """
        import jax, jax.numpy as jnp, surrogate

        @surrogate.register_native("jax", "tanh", name="steep")
        def steep(call, g):
            return (g * 3.0,)

        rules = {"tanh": "steep", "sign": "identity", "compare": "identity"}
        with surrogate.override("jax", rules) as active:
            assert jax.grad(lambda x: jnp.sign(x) + jax.lax.sign(x))(0.5) == 2
            assert jax.grad(lambda x: (x > 0) * 5.0)(0.5) == 5
            assert jax.grad(jnp.tanh)(0.5) == 3
        assert +active.hits == {"sign": 2, "greater": 1, "tanh": 1}, active.hits
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
