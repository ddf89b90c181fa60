"""A kind cluster for the operator, with docker or podman: make it, bring the image to it, remove it.

What belongs here: which engine, which kind, and how an image gets to the nodes. What does not: building the image
(imagebuild), installing it (`make deploy`, which is the same for every cluster).
"""
