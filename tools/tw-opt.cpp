// tw-opt: reads IR in the text form, runs passes by name and prints the result.
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>

#include <CLI/CLI.hpp>

#include "tilewright/ir/dump.h"
#include "tilewright/ir/text.h"
#include "tilewright/ir/verify.h"
#include "tilewright/pass/registry.h"

namespace {

using namespace tw;  // NOLINT: a tool

std::string read(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  TW_REQUIRE(file.good(), "can't read {}", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Reads IR in the text form, runs passes and prints the result.");
  std::string path = "-", level;
  std::vector<std::string> names;
  pass::RunOptions options;
  ir::DumpOptions dump_options{.diff = false};
  ir::PrintOptions print_options;
  bool list = false, no_verify = false, time = false, quiet = false;
  app.add_option("file", path, "IR text; - is the standard input");
  app.add_option("-p,--passes", names, "passes to run, in order")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--list", list, "name the passes and stop");
  app.add_option("--verify", level, "verify the result as IR of this level: tile, scheduled, loop");
  app.add_flag("--no-verify", no_verify, "do not verify between passes");
  app.add_option("--dump", dump_options.dir, "a directory for the text after each pass");
  app.add_flag("--diff", dump_options.diff, "with --dump: what each pass changed, too");
  app.add_flag("--time", time, "print the time of each pass to the standard error");
  app.add_flag("--locations", print_options.locations, "print source positions");
  app.add_flag("--canonical", print_options.canonical, "print without names");
  app.add_flag("-q,--quiet", quiet, "do not print the program");
  CLI11_PARSE(app, argc, argv);
  try {
    Diagnostics diagnostics;
    if (list) {
      for (const pass::Pass& p : pass::registry(diagnostics)) {
        std::cout << format("{:<24} {} -> {}\n", p.name, p.from, p.to);
      }
      return 0;
    }
    options.verify = !no_verify;
    std::optional<ir::Dump> dump;
    if (!dump_options.dir.empty()) {
      dump.emplace(dump_options);
      options.observe = [&](const std::string& name, const ir::Program& p) { dump->add(name, p); };
    }
    const std::vector<pass::Pass> passes = pass::passes_named(names, diagnostics);
    const std::string file = path == "-" ? "stdin" : path;
    const ir::Program program = ir::parse_program(read(path), {.file = file, .locate = true});
    const pass::RunResult result = pass::run(program, passes, options);
    if (!level.empty()) ir::verify(result.program, ir::level_named(level));
    if (!quiet) std::cout << print(result.program, print_options);
    if (time) std::cerr << to_text(result.times);
    if (!diagnostics.list().empty()) std::cerr << to_text(diagnostics) << "\n";
    return diagnostics.has_errors() ? 1 : 0;
  } catch (const std::exception& error) {
    std::cerr << "tw-opt: " << error.what() << "\n";
    return 1;
  }
}
