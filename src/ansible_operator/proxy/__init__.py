"""The API proxy that runs talk to: it gives them the operator's rights, and what they create an owner.

Listens on loopback with TLS. Every run has a token of its own, which names the owner and dies with the run; without one
there is no access. Whatever the proxy has no reason to touch, or cannot parse, passes through as it is.
"""
