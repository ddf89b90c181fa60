"""A real Kubernetes node on this machine: containerd, kubelet and kube-proxy beside the control plane of localcluster.

What belongs here: those three, in a network and a mount namespace of their own, and ending them so that nothing is
left. What does not: the control plane (localcluster), images of the operator (imagebuild), tests. Needs root, Linux and
packages.
"""

from localnode.errors import NodeError
from localnode.node import Node

__all__ = ["Node", "NodeError"]
