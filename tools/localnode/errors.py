"""Every foreseen fault, as text that a person can act on."""


class NodeError(Exception):
    """Its text says what to do."""
