"""The order of the gallery: whole programs first."""

_FIRST = ("binarised", "quantised", "spiking", "guided_backprop")


def by_subject(name):
    """What a file of the gallery is sorted by."""
    subject = name.removeprefix("plot_").removesuffix(".py")
    return (_FIRST.index(subject) if subject in _FIRST else len(_FIRST)), subject
