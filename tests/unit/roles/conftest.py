"""The rules and modules are part of the role, not of a package on the path, and are imported from there."""

import sys
from pathlib import Path

ROLE = Path(__file__).parents[3] / "roles" / "aitask"
sys.path[:0] = [str(ROLE), str(ROLE / "library")]
