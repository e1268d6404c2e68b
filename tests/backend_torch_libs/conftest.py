"""What other libraries warn of is theirs; a warning of ours fails."""

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "backend_torch_libs" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore", "error::surrogate.SurrogateWarning"))
