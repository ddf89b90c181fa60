"""The rules are part of the role, not of a package on the path, and are imported from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "roles" / "aitask"))
