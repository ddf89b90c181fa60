"""Runs Ansible and knows no cluster: private data directories, starting and ending runs, their events and artifacts.

What a run needs comes in as a RunRequest, what it did goes out as events and a RunEnd. Here are only the parts of the
parent side; ``runner.worker`` runs inside Ansible processes.
"""
