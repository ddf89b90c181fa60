"""The fault of a build that has a cure."""


class ImageError(Exception):
    """A foreseen fault: its text names the cure and is shown as it is."""
