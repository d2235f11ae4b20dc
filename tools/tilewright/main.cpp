// tilewright: compiles and times programs in the text form, and shows what is installed and cached.
#include <iostream>

#include "commands.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Compiles and times programs in the text form of the IR; shows what is installed and "
      "cached.\n"
      "Exit code: 0, 1 if the work failed, 2 if the command line is wrong.");
  app.set_version_flag("--version", "tilewright " TW_VERSION);
  app.require_subcommand(1);
  tw::tool::add_info(app);
  tw::tool::add_compile(app);
  tw::tool::add_bench(app);
  tw::tool::add_cache(app);
  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::cerr << "tilewright: " << error.what() << "\n";
    return 1;
  }
}
