"""surrogate for Apple MLX, as a third party writes it: public names of ``surrogate`` alone."""

import surrogate
from surrogate_mlx._backend import MLX

backend = MLX()


@surrogate.hookimpl
def surrogate_backend(name):
    return backend if name == backend.name else None
