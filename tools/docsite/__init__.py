"""Builds the site of the documentation: gathers the pages, and lets mkdocs do the rest.

What belongs here: which files are pages, and that a page has the same neighbours on the site as in the repository, so
that its links hold in both. What does not: the look and the order of the pages, which stand in mkdocs.yml.
"""
