// The list of cases names every function of the library.
#include "tests/mutate/library.h"

#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace tw {
namespace {

/// Names of the functions that headers of the library declare.
std::set<std::string> declared_functions() {
  std::set<std::string> names;
  const std::regex declaration(R"(\nvoid (\w+)\(const Tensor& )");
  for (const auto& file :
       std::filesystem::directory_iterator(test::source_path("tilewright/kernels"))) {
    if (file.path().extension() != ".h") continue;
    const std::string text = test::read_file(file.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

TEST(Library, HasACaseOfEveryFunction) {
  std::set<std::string> names;
  for (const test::LibraryCase& each : test::library_cases()) names.insert(each.kernel);
  EXPECT_EQ(names, declared_functions());
  EXPECT_GE(names.size(), 33U);
}

}  // namespace
}  // namespace tw
