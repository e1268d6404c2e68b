"""Sphinx: `sphinx-build -W -n docs docs/_build/html`, offline."""

import importlib.metadata
import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "surrogate"
author = "The surrogate authors"
copyright = "the surrogate authors"  # noqa: A001
release = importlib.metadata.version("surrogate-gradients")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "generated_pages",
]
exclude_patterns = [
    "_build",
    "_ext",
    "examples",
    "generated",
    "gallery",
    "auto_examples/*.ipynb",
    "**/README.rst",
    "sg_execution_times.rst",
]
nitpicky = True
suppress_warnings = ["ref.python"]  # "Report" is a class of the kit and one of the audit

html_theme = "furo"
html_title = "surrogate"
html_static_path = ["_static"]
html_extra_path = ["generated/extra"]
html_css_files = ["surrogate.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b6e4f", "color-brand-content": "#0b6e4f"},
    "dark_css_variables": {"color-brand-primary": "#6fd6ac", "color-brand-content": "#6fd6ac"},
}
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "deflist", "substitution"]
myst_substitutions = {"version": release}
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False

# names of other projects, whose pages are not asked for: the build is offline
nitpick_ignore_regex = [
    ("py:.*", r"(np|npt|numpy|collections|contextlib|types|typing|enum|abc|re|pathlib)\..*"),
    ("py:.*", r"(\w+\.)*(Array|Function|Rules|Spec|Scope|Needs|Tail|F|Self|Any)"),
    # inner parts that a signature or an attribute names
    ("py:.*", r"(surrogate\._\w+\.)?(Alive|Bound|Callers|Entry|Formula|Layer|Learned|Places|Result|Store|T)"),
    ("py:.*", r"AbstractContextManager"),
    ("py:.*", r"surrogate\.testing\._(plan|target)\.(Check|Target)"),
    ("py:.*", r"PluginManager.*"),
]

sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "gallery_order.by_subject",
    "download_all_examples": False,
    "show_signature": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
}


def keep_the_colon(app, what, name, obj, options, lines):
    """Let no first sentence of a property be read as "type: description"."""
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]


def setup(app):
    app.connect("autodoc-process-docstring", keep_the_colon, priority=400)
