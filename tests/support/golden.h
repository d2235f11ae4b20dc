// Golden files: texts under tests/golden/ that generated code is compared with.
#pragma once

#include <string>

namespace tw::test {

/// The path of a file of the repository: `source_path("docs/environment.md")`.
std::string source_path(const std::string& relative);

/// The content of a file; a failure of the running test, and empty, when it can't be read.
std::string read_file(const std::string& path);

/// Expects `text` to equal the file tests/golden/<name>. When the executable runs with
/// --update-golden it writes the file instead, for review in the diff of the commit.
void expect_golden(const std::string& name, const std::string& text);

/// Set by --update-golden.
void update_golden(bool update);

}  // namespace tw::test
