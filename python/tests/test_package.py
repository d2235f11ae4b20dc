"""The package as such: what importing it costs and needs, its types, what it tells of itself."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import tilewright as tw


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_import_loads_neither_backend_nor_frameworks() -> None:
    code = (
        "import sys, tilewright; maps = open('/proc/self/maps').read();"
        "print('libtw_cpu' in maps, 'LLVM' in maps, 'numpy' in sys.modules, 'torch' in sys.modules)"
    )
    assert run(code) == "False False False False"


def test_info_tells_what_is_installed() -> None:
    info = tw.info()
    assert info["version"] == tw.__version__
    assert len(info["build_id"]) == 16
    assert info["threads"] >= 1
    assert all(target.startswith(("cpu", "cuda")) for target in info["targets"])


def test_the_package_is_typed() -> None:
    folder = Path(tw.__file__).parent if (Path(tw.__file__).parent / "py.typed").exists() else None
    assert folder is not None
    stub = (folder / "_tilewright.pyi").read_text()
    for name in tw.__all__:
        if name not in ("Array", "__version__") and not isinstance(getattr(tw, name), ModuleType):
            assert f"def {name}(" in stub or f"class {name}:" in stub, name
