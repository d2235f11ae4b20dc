"""Random numbers."""

from ._tilewright import randn, randn_words, standard_normal

__all__ = ["randn", "randn_words", "standard_normal"]
