// The main function of every test executable: GoogleTest's options, and --update-golden.
#include <cstdio>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/golden.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--update-golden") {
      std::fprintf(stderr, "unknown option '%s'; there is --update-golden, and see --help\n",
                   argv[i]);
      return 2;
    }
    tw::test::update_golden(true);
  }
  return RUN_ALL_TESTS();
}
