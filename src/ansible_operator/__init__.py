"""Runs Ansible content as a Kubernetes operator.

A drop-in for the Go ``ansible-operator``: same command line, same ``watches.yaml``, same variables, status and
annotations. Packages are layers and import downwards only:

``cli > app > controller > reconcile > runner | proxy | workqueue > kube | config > telemetry > model``
"""

__version__ = "0.2.0"
