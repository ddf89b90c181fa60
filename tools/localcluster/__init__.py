"""A local Kubernetes cluster made of real processes: etcd, API server, controller-manager, scheduler and kwok.

What belongs here: pinning, building and choosing those programs, starting them, ending them without fail, and the
credentials to talk to them. What does not: anything about the operator under test (its CRDs, roles, images), and any
helper for writing Kubernetes tests. Imports nothing beyond the standard library, `cryptography` and `yaml`.
"""

from localcluster.cluster import Cluster
from localcluster.errors import BuildError, ClusterError, NotRunningError, StartError

__all__ = ["BuildError", "Cluster", "ClusterError", "NotRunningError", "StartError"]
