"""The one cluster that the tests of this folder share."""

from localcluster.pytest_plugin import cluster

__all__ = ["cluster"]
