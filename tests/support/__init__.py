"""What tests on a real API server share: the operator as a child process, projects to run in it, a small API client.

Knows the operator from outside only: its command line, its log, its HTTP endpoints, the API server. Nothing in here
asserts what a single test is about.
"""
