"""Random numbers."""

from ._tilewright import randn, randn_words

__all__ = ["randn", "randn_words"]
