"""The demo's network, one plain file per framework; each has one function, ``train``.

These files are what a user would have written: nothing in them mentions surrogate gradients.
:class:`surrogate.demo.protocol.Train` says what ``train`` is given and what it returns.
"""
