"""Makes the toy framework and its backends importable for the tests of the kit."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
