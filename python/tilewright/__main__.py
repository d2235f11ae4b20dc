"""The command line tool `tilewright`, which an installed package has beside this file."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the tool."""
    tool = Path(__file__).with_name("tilewright")
    if not tool.exists():
        sys.exit(f"tilewright: there is no {tool}; in a clone the tool is build/tools/tilewright")
    os.execv(tool, ["tilewright", *sys.argv[1:]])


if __name__ == "__main__":
    main()
