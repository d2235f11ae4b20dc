"""The tool `tilewright`, which TILEWRIGHT names: what it prints, and its exit codes."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = os.environ.get("TILEWRIGHT", "")
SCALE = str(Path(__file__).parent / "scale.tw")
VERSION_2 = str(Path(__file__).parent / "version_2.tw")


@unittest.skipUnless(TOOL, "TILEWRIGHT does not name the tool")
class Tilewright(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache"

    def run_tool(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("TW_")}
        return subprocess.run(
            [TOOL, *arguments],
            env=kept | {"TW_CACHE_DIR": str(self.cache)} | variables,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def output_of(self, *arguments: str, **variables: str) -> str:
        done = self.run_tool(*arguments, **variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_fails(self, code: int, message: str, *arguments: str, **variables: str) -> None:
        """Exit code and whole message; of the command line's mistakes less the hint at --help."""
        done = self.run_tool(*arguments, **variables)
        hint = "Run with --help for more information.\n"
        text = f"{message}\n{hint}" if code == 2 else f"tilewright: {message}\n"
        self.assertEqual((done.returncode, done.stdout, done.stderr), (code, "", text))

    def test_info_tells_what_is_installed_and_in_force(self) -> None:
        rows = dict(re.findall(r"^(\w+) +(.+)$", self.output_of("info"), re.MULTILINE))
        self.assertRegex(rows["version"], r"^\d+\.\d+\.\d+, build \w{16}$")
        self.assertRegex(rows["backends"], r"^cpu \(llvm 19\.1\.\d+, \w+\)$")
        self.assertIn("cpu:baseline", rows["targets"])
        self.assertEqual(rows["cache"], f"{self.cache}: 0 kernels, 0 bytes of at most 4.0 GiB")
        self.assertEqual(rows["environment"], f"TW_CACHE_DIR={self.cache}")

    def test_info_shows_what_a_variable_changes(self) -> None:
        text = self.output_of("info", TW_NUM_THREADS="3", TW_CACHE_DISABLE="1")
        self.assertIn("\nthreads       3\n", text)
        self.assertIn("GiB; disabled\n", text)
        self.assertIn("\n              TW_NUM_THREADS=3\n", text)

    def test_info_tells_of_gpus_what_there_is_or_why_there_is_none(self) -> None:
        text = self.output_of("info", TW_NVRTC="/nowhere")
        self.assertRegex(text, r"(?m)^cuda driver   (CUDA \d+\.\d+|none: .*NVIDIA.*)$")
        wanted = "none: NVRTC isn't installed: TW_NVRTC is /nowhere, where it isn't"
        self.assertRegex(text, f"(?m)^cuda compiler {wanted}$")

    def test_more_threads_than_can_be_had_are_refused(self) -> None:
        message = "TW_NUM_THREADS is 99999999, at most 1024 threads can be had"
        command = ("bench", SCALE, "--size", "n=4", "--ms", "1")
        self.assert_fails(1, message, *command, TW_NUM_THREADS="99999999")

    def test_compile_says_what_it_made(self) -> None:
        self.assertEqual(
            self.output_of("compile", SCALE, "--target", "cpu:avx2", "--out", "scale.so"),
            "scale for cpu:avx2 in scale.so\n",
        )
        self.assertTrue((self.folder / "scale.so").is_file())

    def test_compile_explains_and_times(self) -> None:
        text = self.output_of("compile", "--option", "fast_math=on", SCALE, "--explain")
        self.assertIn("  launch\n    _0 grid [n]\n", text)
        self.assertIn("  input X f32 [n, 64] align 4\n  output Y f32 [n, 64] align 4\n", text)
        times = self.output_of("compile", SCALE, "--time").splitlines()
        for line in times:
            self.assertRegex(line, r"^[\w ]{24} +\d+\.\d{3} ms$")
        self.assertEqual(times[-1].split()[0], "total")

    def test_compile_dumps_every_step(self) -> None:
        self.output_of("compile", SCALE, "--dump", "out")
        files = {path.name for path in (self.folder / "out").iterdir()}
        some = {"00_input.tw", "03_simplify.tw", "03_simplify.diff", "llvm.ll", "times.txt"}
        self.assertLessEqual(some, files)
        again = self.output_of("compile", "out/00_input.tw", "--target", "cpu:avx2")
        self.assertEqual(again, "scale for cpu:avx2\n")

    def test_compile_names_ignored_hints_with_verbose(self) -> None:
        hinted = (
            Path(SCALE)
            .read_text()
            .replace("input X: f32[n, 64]", "input X: f32[n, 64] with l2_persist=f64(0.5)")
        )
        (self.folder / "hinted.tw").write_text(hinted)
        self.output_of("compile", "hinted.tw", "--target", "cpu:avx2")
        done = self.run_tool("compile", "hinted.tw", "--verbose")
        line = hinted[: hinted.index("l2_persist")].count("\n") + 1
        self.assertEqual(
            done.stderr,
            f"hinted.tw:{line}: warning[W-HINT-01]: scale: X: cpu ignores l2_persist=0.5\n",
        )

    def test_bench_times_a_program_and_what_was_exported(self) -> None:
        self.output_of("compile", SCALE, "--target", "cpu:baseline", "--out", "scale.so")
        for file, target in ((SCALE, r"\S+"), ("scale.so", "cpu:baseline")):
            number = r" +\d+\.\d\d"
            self.assertRegex(
                self.output_of("bench", file, "--size", "n=33", "--ms", "1"),
                rf"\Ascale for {target} on \d+ threads, 16\.5 KiB moved\n"
                r"  input X: f32 \[33, 64\]\n  output Y: f32 \[33, 64\]\n"
                r" +median us +best us +GB/s\n"
                rf"kernel  {number * 3}\ncopy    {number * 3}\n"
                r"\d+ % of the speed of copying\n\Z",
            )

    def test_bench_makes_up_arguments_of_every_kind(self) -> None:
        program = """tilewright ir 1
program "mixed" {
  symbol n: i64
  symbol row: i64
  input x: bf16[n, 4] with strides=[row, 1]
  input e: e2m1[n, 4]
  input s: e8m0[n]
  input i: i32[n]
  scalar a: f32
  scalar flag: bool
  inout y: f32[n]
  launch b in n {
    y[b] = y[b] + a * cast(x[b, 0], f32) + cast(e[b, 1], f32) * cast(s[b], f32) + cast(i[b], f32)
  }
}
"""
        (self.folder / "mixed.tw").write_text(program)
        sizes = ["--size", "n=16", "--size", "row=8", "--scalar", "a=0.5", "--ms", "1"]
        text = self.output_of("bench", *sizes, "mixed.tw")
        self.assertIn(
            "  scalar a: f32 0.5\n  scalar flag: bool 1\n"
            "  input x: bf16 [16, 4] strides [8, 1]\n  input e: e2m1 [16, 4]\n"
            "  input s: e8m0 [16]\n  input i: i32 [16]\n  inout y: f32 [16]\n",
            text,
        )

    def test_bench_of_nothing_compares_with_nothing(self) -> None:
        text = self.output_of("bench", SCALE, "--size", "n=0", "--ms", "1")
        self.assertNotIn("copy", text)

    def test_cache_lists_and_removes_kernels(self) -> None:
        self.output_of("bench", SCALE, "--size", "n=1", "--ms", "1", "--target", "cpu:baseline")
        row = r"\Ascale +cpu:baseline +\d+\.\d KiB  \d{4}-\d\d-\d\d \d\d:\d\d\n\Z"
        self.assertRegex(self.output_of("cache"), row)
        self.assertRegex(self.output_of("cache", "size"), r"^1 kernel, .* KiB of at most 4\.0 GiB$")
        self.assertEqual(self.output_of("cache", "path"), f"{self.cache}\n")
        message = "cache: TW_CACHE_READONLY is set, nothing is removed"
        self.assert_fails(1, message, "cache", "clear", TW_CACHE_READONLY="1")
        self.assertRegex(self.output_of("cache", "clear"), r"^removed 1 kernel, ")
        self.assertEqual(self.output_of("cache", "list"), "")

    def test_every_command_has_help(self) -> None:
        for command in ([], ["info"], ["compile"], ["bench"], ["cache"]):
            self.assertIn("Usage:", self.output_of(*command, "--help"))

    def test_what_goes_wrong_is_told_with_exit_code_1(self) -> None:
        absent = "can't read absent.tw: No such file or directory"
        self.assert_fails(1, absent, "compile", "absent.tw")
        self.assert_fails(1, absent, "bench", "absent.tw", "--size", "n=1")
        self.assert_fails(
            1,
            "version_2.tw:1: column 15: this is format version 2; only version 1 can be read\n"
            "  note: tilewright ir 2",
            "compile",
            VERSION_2,
        )
        self.assert_fails(
            1,
            "target: there is none called 'z80'\n"
            "  help: the targets are cpu, sm_90a, sm_100a, ascend950",
            "compile",
            SCALE,
            "--target",
            "z80",
        )
        self.assert_fails(
            1,
            "error[E-OPT-01]: options: fast_math is 'perhaps', it must be one of off, on",
            *("compile", SCALE, "--option", "fast_math=perhaps"),
        )
        self.assert_fails(
            1,
            "export: can't write absent/scale.so: No such file or directory",
            *("compile", SCALE, "--out", "absent/scale.so"),
        )
        self.assert_fails(
            1,
            "dump: can't make the folder /proc/dump: No such file or directory",
            *("compile", SCALE, "--dump", "/proc/dump"),
        )

    def test_a_wrong_command_line_is_told_with_exit_code_2(self) -> None:
        self.assert_fails(2, "A subcommand is required")
        self.assert_fails(2, "FILE is required", "compile")
        self.assert_fails(2, "--size: scale needs --size n=...", "bench", SCALE)
        self.assert_fails(2, "--size: 'n=4k' is no number", "bench", SCALE, "--size", "n=4k")
        for ms in ("nan", "inf", "0", "-1", "1e300", "x"):
            message = f"--ms: {ms} is no number in (0, 3600000]"
            self.assert_fails(2, message, "bench", SCALE, "--size", "n=4", "--ms", ms)
        self.assert_fails(2, "--size: n is -4", "bench", SCALE, "--size", "n=-4")
        self.assert_fails(
            2,
            "--size: scale has no m; it has n",
            *("bench", SCALE, "--size", "n=4", "--size", "m=4"),
        )
        self.assert_fails(
            2,
            "--option: 'fast_math' must be NAME=VALUE",
            *("compile", SCALE, "--option", "fast_math"),
        )
        self.output_of("compile", SCALE, "--out", "scale.so")
        self.assert_fails(
            2,
            "scale.so: is compiled already: --target, --option don't apply",
            *("bench", "scale.so", "--size", "n=4", "--target", "cpu"),
        )


if __name__ == "__main__":
    unittest.main()
