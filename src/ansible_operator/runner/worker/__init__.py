"""What runs inside the Ansible process of warm runs: a server that forks one child per run, and how a child runs.

Started as ``python -m ansible_operator.runner.worker``; nothing imports it. ``private`` alone touches interfaces of
Ansible that are not public.
"""
