"""Plugins that Ansible and ansible-runner load in their own processes; the main process never imports them."""
