"""A framework of about 300 lines, for tests of the kit that need no big one.

It has reverse and forward mode that nest, a vmap, a compiler that replays what it decided at its first
call, and the same arithmetic as NumPy.
"""
