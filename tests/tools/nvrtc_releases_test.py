"""tools/nvrtc_releases.py: what it reads from logs, and a run on an archive that is none."""

import contextlib
import io
import lzma
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import nvrtc_releases as releases

# Stands for an archive's: the installed NVRTC gives other bits than the one in the folder.
RUN = """#!/bin/sh
[ -z "$TW_NVRTC" ] || [ -e "$TW_NVRTC/libnvrtc.so.12" ] || exit 1
case "$1 $2" in
  "tilewright info") echo "cuda compiler NVRTC ${TW_NVRTC:+12.9.86}${TW_NVRTC:-13.0.88} (/x)" |
    sed 's#12.9.86/[^ ]*#12.9.86#' ;;
  "python -m") echo "7 passed, 1 skipped in 0.10s" ;;
  python*) echo "{\\"add\\": \\"1\\", \\"sum\\": \\"${TW_NVRTC:+2}\\"}" ;;
  *) echo "[==========] 3 tests from 1 test suite ran. (1 ms total)"
     echo "[  PASSED  ] 2 tests."
     echo "[  FAILED  ] 1 test, listed below:" ;;
esac
"""


class NvrtcReleases(unittest.TestCase):
    def test_counts_of_logs(self) -> None:
        ran = "[==========] 5 tests from 1 test suite ran. (1 ms total)\n[  PASSED  ] 3 tests.\n"
        self.assertEqual(releases.gtest_counts(ran), (3, 0, 0))
        log = ran + "[  SKIPPED ] 1 test, listed below:\n[  FAILED  ] 1 test, listed below:\n"
        self.assertEqual(releases.gtest_counts(log), (3, 1, 1))
        self.assertEqual(releases.gtest_counts("[ RUN      ] Dies\n"), (0, 1, 0))
        self.assertEqual(releases.pytest_counts("...\n1 failed, 9 passed in 3.1s\n"), (9, 1, 0))
        self.assertEqual(releases.pytest_counts("2 skipped, 1 error in 3.1s"), (0, 1, 2))
        self.assertEqual(releases.pytest_counts("9 passed in 90.10s (0:01:30)"), (9, 0, 0))
        self.assertEqual(releases.pytest_counts("Segmentation fault"), (0, 1, 0))

    def test_names_of_packages_and_libraries(self) -> None:
        self.assertEqual(releases.package_of("12.9.86"), "nvidia-cuda-nvrtc-cu12")
        self.assertEqual(releases.package_of("13.5.37"), "nvidia-cuda-nvrtc")
        self.assertTrue(releases.LIBRARY.search("nvidia/cu13/lib/libnvrtc-builtins.so.13.5"))
        self.assertFalse(releases.LIBRARY.search("nvidia/cuda_nvrtc/lib/libnvrtc.alt.so.12"))

    def test_a_run_compares_the_releases(self) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            root = Path(temporary)
            for folder in ("bin", "python_tests", "nvrtc/12.9.86"):
                (root / folder).mkdir(parents=True)
            (root / "bin/tw_test_a_on_cuda").touch()
            (root / "python_tests/test_cuda.py").touch()
            (root / "run").write_text(RUN)
            (root / "run").chmod(0o755)
            (root / "nvrtc/12.9.86/libnvrtc.so.12.xz").write_bytes(lzma.compress(b"code"))
            findings = releases.Findings(root / "nvrtc.json")
            with contextlib.redirect_stdout(io.StringIO()):
                releases.run(root, root / "nvrtc", "quick", findings)
            for release, library in releases.libraries(root / "nvrtc"):
                self.assertEqual(release, "12.9.86")
                self.assertEqual((library / "libnvrtc.so.12").read_bytes(), b"code")
            findings.add("12.9.86", cubins="all compile")
            self.assertEqual(
                releases.table(releases.merged([root / "nvrtc.json"])).splitlines()[2:],
                [
                    "| 12.9.86 | all compile | 9 | 1 | 2 compared, 1 differ: sum |",
                    "| 13.0.88 | - | 9 | 1 | 2 compared, 0 differ |",
                ],
            )


if __name__ == "__main__":
    unittest.main()
