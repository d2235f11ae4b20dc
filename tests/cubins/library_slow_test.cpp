// Every function of the library compiles to machine code for every chip that is known.
#include <map>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/twin_backend.h"
#include "tests/mutate/library.h"

namespace tw::test {
namespace {

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
  const std::set<std::string> functions = declared_functions();
  EXPECT_GT(functions.size(), 30U);
  for (const std::string& function : functions) {
    EXPECT_TRUE(compiled.contains(function)) << function << " has no case in tests/mutate/library";
  }
}

}  // namespace
}  // namespace tw::test
