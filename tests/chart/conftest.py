"""What the files of this directory need: Helm, and the rules of the role, which judge the operator's configuration."""

from tests.support.helm import helm
from tests.unit.roles.conftest import ROLE

__all__ = ["ROLE", "helm"]
