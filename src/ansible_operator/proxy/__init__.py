"""The API proxy that runs talk to: it gives them the operator's rights, and what they create an owner.

Listens on loopback with TLS. Every run has a token of its own, which names the owner and dies with the run, and with it
whatever it has open; without one there is no access. What the operator knows anyway (objects it watches, what the API
server serves) is told from memory; whatever the proxy has no reason to touch, or cannot parse, passes through as it is.
"""
