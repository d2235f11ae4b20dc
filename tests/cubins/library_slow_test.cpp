// Every function of the library compiles to machine code for every chip that is known.
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/twin_backend.h"
#include "tests/mutate/library.h"
#include "tests/support/golden.h"

namespace tw::test {
namespace {

/// Functions with a stream in the headers of the library.
std::set<std::string> functions_of_headers() {
  std::set<std::string> names;
  const std::regex function(R"(\nvoid (\w+)\([^;]*?\bStream\b)");
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tilewright/kernels"))) {
    if (entry.path().extension() != ".h") continue;
    const std::string text = read_file(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
      names.insert((*it)[1]);
    }
  }
  return names;
}

TEST(Cubins, OfEveryFunctionOfTheLibrary) {
  const AlsoToCubin cubins;
  if (!cubins.skip_reason().empty()) GTEST_SKIP() << cubins.skip_reason();
  std::map<std::string, int> compiled;
  for (const LibraryCase& each : library_cases()) {
    // Mostly two dtypes; the tests of the kernels compile what more they call.
    if (++compiled[each.kernel] > 2) continue;
    SCOPED_TRACE(each.kernel + ": " + each.what);
    std::optional<MayStop> may_stop;
    if (each.stops) may_stop.emplace();
    Place place(Where::twin, 0);
    each.run(place);
  }
  const std::set<std::string> functions = functions_of_headers();
  EXPECT_GT(functions.size(), 30U);
  for (const std::string& function : functions) {
    EXPECT_TRUE(compiled.contains(function)) << function << " has no case in tests/mutate/library";
  }
}

}  // namespace
}  // namespace tw::test
