// tw-reduce: the smallest program for which a command still succeeds, as creduce does for C.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/sim/shrink.h"

namespace {

using namespace tw;  // NOLINT: a tool

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TW_REQUIRE(file.good(), "can't read {}", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the command succeeds with the program in a file of this name.
bool succeeds(const ir::Program& program, const std::string& command, const std::string& path) {
  std::ofstream(path, std::ios::binary) << print(program);
  return std::system((command + " " + path).c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Shrinks a program in the text form as long as a command succeeds with it: write one that\n"
      "exits with 0 if the failure still shows. It is given the name of a file.");
  std::string path, command, level = "tile";
  int trials = 5000;
  app.add_option("file", path, "IR text")->required();
  app.add_option("command", command, "shell command; the file's name is put behind it")->required();
  app.add_option("--level", level, "of the program: tile, scheduled, loop");
  app.add_option("--trials", trials, "programs that are tried at most");
  CLI11_PARSE(app, argc, argv);
  const std::string candidate =
      std::filesystem::temp_directory_path() / format("tw-reduce-{}.tw", getpid());
  try {
    const ir::Program program = ir::parse_program(read(path), {.file = path});
    TW_REQUIRE(succeeds(program, command, candidate), "'{}' does not succeed with {} itself",
               command, path);
    const auto fails = [&](const ir::Program& p) { return succeeds(p, command, candidate); };
    std::cout << print(sim::shrink(program, fails, ir::level_named(level), trials));
    std::filesystem::remove(candidate);
    return 0;
  } catch (const std::exception& error) {
    std::filesystem::remove(candidate);
    std::cerr << "tw-reduce: " << error.what() << "\n";
    return 1;
  }
}
