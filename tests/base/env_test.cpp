#include "tilewright/base/env.h"

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/golden.h"
#include "tilewright/base/error.h"

namespace tw::env {
namespace {

/// Sets one variable (or unsets it, with null) until the end of the scope.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old, was_set_ = true;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Setting() { was_set_ ? setenv(name_, old_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool was_set_ = false;
};

template <class Variable>
std::string error_of(const Variable& variable) {
  try {
    variable.get();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Env, AnUnsetOrEmptyVariableHasItsFallback) {
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const Setting max_bytes("TW_CACHE_MAX_BYTES", value), disable("TW_CACHE_DISABLE", value);
    EXPECT_EQ(cache_max_bytes.get(), int64_t{4} << 30);
    EXPECT_FALSE(cache_disable.get());
  }
}

TEST(Env, ReadsFlags) {
  for (const char* yes : {"1", "true", "on", "yes"}) {
    const Setting set("TW_CHECK_BOUNDS", yes);
    EXPECT_TRUE(check_bounds.get()) << yes;
  }
  for (const char* no : {"0", "false", "off", "no"}) {
    const Setting set("TW_CHECK_BOUNDS", no);
    EXPECT_FALSE(check_bounds.get()) << no;
  }
}

TEST(Env, AMalformedFlagIsAnErrorThatNamesTheVariable) {
  const Setting set("TW_CHECK_BOUNDS", "maybe");
  EXPECT_EQ(error_of(check_bounds), "TW_CHECK_BOUNDS is 'maybe', it must be 1 or 0");
}

TEST(Env, AMalformedCountIsAnErrorThatNamesTheVariable) {
  for (const std::string value : {"two", "2 ", "-1", "1.5", "99999999999999999999"}) {
    const Setting set("TW_NUM_THREADS", value.c_str());
    EXPECT_EQ(error_of(num_threads), "TW_NUM_THREADS is '" + value +
                                         "', it must be an integer from 0 to 9223372036854775807");
  }
}

TEST(Env, TheCacheFolderFollowsTheUsersSettings) {
  const Setting home("HOME", "/home/ada");
  const Setting xdg("XDG_CACHE_HOME", "/var/cache/ada");
  const Setting chosen("TW_CACHE_DIR", "/fast");
  EXPECT_EQ(cache_folder(), "/fast");
  const Setting not_chosen("TW_CACHE_DIR", nullptr);
  EXPECT_EQ(cache_folder(), "/var/cache/ada/tilewright");
  const Setting no_xdg("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(cache_folder(), "/home/ada/.cache/tilewright");
  const Setting no_home("HOME", nullptr);
  EXPECT_EQ(cache_folder(), "");
}

template <class Variable>
void expect_valid_fallback(const Variable& variable) {
  const Setting unset(variable.name, nullptr);
  EXPECT_NO_THROW(variable.get()) << variable.name;
}

TEST(Env, EveryFallbackIsAValidValue){
#define TW_EXPECT(identifier, type, name, fallback, doc) expect_valid_fallback(identifier);
    TW_VARIABLES(TW_EXPECT)
#undef TW_EXPECT
}

TEST(Env, TheDocumentListsEveryVariableAndNoOther) {
  std::istringstream document(test::read_file(test::source_path("docs/environment.md")));
  std::vector<std::string> found, expected;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("| `TW_")) found.push_back(line);
  }
  for (const Row& row : table()) {
    const std::string fallback = *row.fallback == '\0' ? "" : format("`{}`", row.fallback);
    expected.push_back(format("| `{}` | {} | {} | {} |", row.name, row.type, fallback, row.doc));
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tw::env
