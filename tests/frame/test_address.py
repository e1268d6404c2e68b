"""A release has an address: the README's links are absolute, and the project names its places."""

import re
import runpy
import tomllib


def test_no_relative_link_is_left(root):
    script = runpy.run_path(str(root / "docs" / "set_address.py"))
    readme = (root / "README.md").read_text()
    made = script["absolute"](readme, "https://example.org/us/surrogate", "v1.0")
    links = re.findall(r"\]\(([^)]+)\)", made)
    assert len(links) == len(re.findall(r"\]\(([^)]+)\)", readme)) > 5
    assert [link for link in links if not link.startswith("https://")] == []
    assert "![One" in made
    assert "(https://example.org/us/surrogate/raw/v1.0/docs/_static/demo.png)" in made
    assert script["absolute"](made, "https://other.org", "v2") == made


def test_every_relative_link_of_the_readme_is_a_file(root):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", (root / "README.md").read_text())
    assert [link for link in links if not (root / link).exists()] == []


def test_the_table_of_addresses_is_toml(root):
    script = runpy.run_path(str(root / "docs" / "set_address.py"))
    table = tomllib.loads(script["urls"]("https://example.org/us/surrogate", "v1.0"))["project"]["urls"]
    assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(table)
    assert all(url.startswith("https://example.org/us/surrogate") for url in table.values())
