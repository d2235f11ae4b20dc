// The list of cases names every function of the library.
#include "tests/mutate/library.h"

#include <set>

#include <gtest/gtest.h>

namespace tw {
namespace {

TEST(Library, HasACaseOfEveryFunction) {
  std::set<std::string> names;
  for (const test::LibraryCase& each : test::library_cases()) names.insert(each.kernel);
  EXPECT_EQ(names, test::declared_functions());
  EXPECT_GE(names.size(), 33U);
}

}  // namespace
}  // namespace tw
