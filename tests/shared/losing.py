"""Every way of losing a gradient in every surrounding: programs that are written to a file and audited.

A *way* is the lines that make ``g`` of ``h``, the one at fault marked ``#!``. A *surrounding* is a program
with those lines in a loop, a branch, compiled code. ``g`` meets the live ``b`` in the loss; ``w`` is lost.
"""

import importlib.util
import itertools
import sys

import surrogate

WHERE = "@@"


def program(folder, imports, surrounding, way):
    """The module that holds the program, and the line at fault."""
    lines = []
    for line in f"{imports}\n\n{surrounding}".splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += [indent + part for part in way.splitlines()] if line.strip() == WHERE else [line]
    (at,) = (number for number, line in enumerate(lines, 1) if line.endswith("#!"))
    name = f"losing_{folder.name}"
    path = folder / f"{name}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module, (str(path), at)


def table(ways, surroundings, impossible=()):
    """Every pair of names, without those that the framework itself refuses to run."""
    return [pair for pair in itertools.product(surroundings, ways) if pair not in set(impossible)]


def names_the_line(backend, module, at, lost, *args, **options):
    """Assert that the audit names this line, and no other, as what costs ``lost`` its gradient."""
    report = surrogate.audit(backend, module.program, *args, **options)
    found = [f for f in report.shown() if f.kind in ("cut", "zero")]
    assert {(f.where.file, f.where.line) for f in found} == {at}, str(report)
    assert any(lost in f.reaches for f in found), str(report)
