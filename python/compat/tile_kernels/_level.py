"""Which API level a call means, where the two can't be told apart by its arguments."""

import os


def is_v1() -> bool:
    """Whether TK_API_LEVEL asks for the API of April 2026 (v1); the default is 2.1.0 (v2)."""
    level = os.environ.get("TK_API_LEVEL", "v2")
    if level not in ("v1", "v2"):
        raise ValueError(f"TK_API_LEVEL is {level!r}, it must be 'v1' or 'v2'")
    return level == "v1"
