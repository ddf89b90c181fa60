"""Whether objects that the last release stored stay valid under the present CustomResourceDefinitions.

What belongs here: comparing two definitions for anything narrower, and OLM's own look at stored objects before an
upgrade. What does not: the rules of a cluster (CEL, defaults), which only an API server knows; a test asks one.
"""
