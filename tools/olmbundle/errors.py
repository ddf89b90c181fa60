"""The fault of a bundle or catalog that has a cure."""


class BundleError(Exception):
    """A foreseen fault: its text names the object and the cure and is shown as it is."""
