"""What several files of this directory need."""

from tests.support.helm import helm

__all__ = ["helm"]
