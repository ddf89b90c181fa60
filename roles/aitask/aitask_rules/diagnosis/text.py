"""Text of others: cleaned of what is not seen, before anything is looked for in it or shown."""

import unicodedata


def visible(text: str) -> str:
    """In the compatibility form (full-width letters become plain ones) and without what has no shape: control and
    format characters (zero width, direction), lone surrogates, private use. Breaks of lines stay."""
    plain = unicodedata.normalize("NFKC", text.replace("\r\n", "\n").replace("\t", " "))
    return "".join(sign for sign in plain if sign == "\n" or not unicodedata.category(sign).startswith("C"))


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters, and a sign that there were more."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
