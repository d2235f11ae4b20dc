#include "tests/support/golden.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace tw::test {
namespace {

bool updating = false;

}  // namespace

void update_golden(bool update) { updating = update; }

std::string source_path(const std::string& relative) {
  // In an archive of `./dev pack` the files lie beside bin/.
  static const std::filesystem::path root =
      std::filesystem::exists(TW_SOURCE_DIR)
          ? std::filesystem::path(TW_SOURCE_DIR)
          : std::filesystem::canonical("/proc/self/exe").parent_path().parent_path();
  return root / relative;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path << " can't be read";
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = source_path("tests/golden/" + name);
  if (updating) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, read_file(path)) << "tests/golden/" << name << " differs; if the new text is "
                                   << "right, run the test with --update-golden";
}

}  // namespace tw::test
