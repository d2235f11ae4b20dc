"""Scoring functions of gates, by their numbers (v1)."""

from __future__ import annotations

from enum import IntEnum


class ScoringFunc(IntEnum):
    SIGMOID = 0
    SQRTSOFTPLUS = 1
    SOFTMAX = 2
    IDENTITY = 3

    def __str__(self) -> str:
        return self.name.lower()

    @classmethod
    def from_str(cls, label: str) -> ScoringFunc:
        """The member of that name, in any case."""
        member = cls.__members__.get(label.upper())
        if member is not None:
            return member
        raise ValueError(f"scoring function {label!r} is none of {', '.join(map(str, cls))}")
