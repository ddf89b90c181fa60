"""Installs the Ansible collections that requirements.yml pins: from Galaxy, else out of PyPI's `ansible` package.

What belongs here: reading the pins, the two sources, and putting the result in place at once or not at all. What does
not: anything about what the collections are used for. Needs Python, PyYAML, pip and ansible-core, nothing of the
project, so that the image build can run it alone.
"""
