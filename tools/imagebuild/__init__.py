"""Builds the operator image: with the container engine that is there, or with buildah on a base of Debian packages.

What belongs here: choosing the engine, making the base where no registry can be reached, telling size and digest, the
bill of materials, the audit of the locked requirements. What does not: any step of the build itself; those stand in the
Dockerfile alone, which both ways read.
Needs nothing of the project but Python.
"""
