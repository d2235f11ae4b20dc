// tilewright compile: from a program in the text form to a kernel that runs without a compiler.
#include <iostream>
#include <memory>

#include "commands.h"
#include "tilewright/base/error.h"

namespace tw::tool {
namespace {

struct Request {
  Source source;
  std::string out, dump_dir;
  bool explain = false, time = false, verbose = false;
};

void compile(const Request& request) {
  const Kernel kernel = request.source.compile(request.source.read(), /*cache=*/false,
                                               request.dump_dir, request.verbose);
  if (!request.out.empty()) kernel.export_object(request.out);
  if (request.explain) std::cout << kernel.explain();
  if (request.time) std::cout << to_text(kernel.steps());
  if (request.explain || request.time) return;
  std::cout << format("{} for {}{}\n", kernel.name(), kernel.metadata().target,
                      request.out.empty() ? "" : " in " + request.out);
}

}  // namespace

void add_compile(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compile", "compiles a program and exports the kernel");
  const auto request = std::make_shared<Request>();
  command
      ->add_option("FILE", request->source.path,
                   "a program in the text form; - is the standard input")
      ->required();
  request->source.add_to(*command);
  command->add_option("--out", request->out, "file for the kernel, which runs without a compiler");
  command->add_option("--dump", request->dump_dir,
                      "folder for the IR after each pass and the code");
  command->add_flag("--explain", request->explain, "print signature, launches and steps");
  command->add_flag("--time", request->time, "print the time of each step");
  command->add_flag("--verbose", request->verbose,
                    "warn of ignored hints and of accesses that may be outside, too");
  command->callback([request] { compile(*request); });
}

}  // namespace tw::tool
