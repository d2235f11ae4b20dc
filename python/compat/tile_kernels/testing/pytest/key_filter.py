"""Expressions of the option -K: regular expressions with `not`, `and` and `or`."""

from __future__ import annotations

import re
from collections.abc import Callable

Matcher = Callable[[str], bool]

_TOKEN = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^\s"']+))""")


def compile_filter(text: str) -> Matcher:
    """What tells whether an id matches. Neighbours without an operator both have to match; quotes
    keep blanks together, and operators from being such. ValueError for what can't be read."""
    tokens = _tokens(text)

    def conjunction() -> Matcher:
        terms = [negation()]
        while tokens and tokens[0] != "or":
            if tokens[0] == "and":
                tokens.pop(0)
            terms.append(negation())
        return lambda id: all(term(id) for term in terms)

    def negation() -> Matcher:
        if not tokens or tokens[0] in ("and", "or"):
            raise ValueError(
                f"{text!r} lacks an expression"
                + (f" before {tokens[0]!r}" if tokens else " at its end")
            )
        token = tokens.pop(0)
        if token == "not":
            term = negation()
            return lambda id: not term(id)
        assert isinstance(token, re.Pattern)
        return lambda id: token.search(id) is not None

    alternatives = [conjunction()]
    while tokens:
        tokens.pop(0)  # "or"
        alternatives.append(conjunction())
    return lambda id: any(alternative(id) for alternative in alternatives)


def _tokens(text: str) -> list[str | re.Pattern]:
    """Operators as text, the others as patterns."""
    tokens: list[str | re.Pattern] = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text!r} has a quote without an end")
        at = match.end()
        if match[3] in ("not", "and", "or"):
            tokens.append(match[3])
            continue
        pattern = next(group for group in match.groups() if group is not None)
        try:
            tokens.append(re.compile(pattern))
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from error
    return tokens
