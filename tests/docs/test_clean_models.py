"""What is recorded of sound models: nothing was found in them, and every source had a gradient."""

import json
from pathlib import Path

RECORDED = json.loads(
    (Path(__file__).parents[2] / "benchmarks" / "audit_clean_models.json").read_text(encoding="utf-8")
)


def test_nothing_was_found_in_any_of_them():
    assert len(RECORDED) >= 25
    for name, told in RECORDED.items():
        assert told.get("findings") == [], name
        assert told["reached"] == told["sources"] > 0, name
