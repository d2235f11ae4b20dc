#include "tilewright/base/text_diff.h"

#include <gtest/gtest.h>

#include "tilewright/base/format.h"

namespace tw {
namespace {

TEST(TextDiff, IsEmptyForEqualTexts) { EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "x", "y"), ""); }

TEST(TextDiff, ShowsChangesWithThreeLinesAround) {
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "x", "y"),
            "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1,1 @@\n+a\n");
}

TEST(TextDiff, SeparatesDistantChanges) {
  std::string a, b;
  for (int i = 0; i < 30; ++i) {
    a += std::to_string(i) + "\n";
    b += (i == 2 || i == 25 ? "x" : "") + std::to_string(i) + "\n";
  }
  EXPECT_EQ(unified_diff(a, b, "a", "b"),
            "--- a\n+++ b\n"
            "@@ -1,6 +1,6 @@\n 0\n 1\n-2\n+x2\n 3\n 4\n 5\n"
            "@@ -23,7 +23,7 @@\n 22\n 23\n 24\n-25\n+x25\n 26\n 27\n 28\n");
}

/// The text that a diff makes of `before`, both with lines of one letter.
std::string patched(const std::string& before, const std::string& diff) {
  std::string result;
  size_t at = 0;  // in before
  for (size_t hunk = diff.find("@@ -"); hunk != diff.npos;) {
    const size_t old_begin = std::stoul(diff.substr(hunk + 4));
    const bool empty = diff[diff.find(',', hunk) + 1] == '0';
    const size_t begin = 2 * (old_begin - (empty ? 0 : 1));
    result += before.substr(at, begin - at);
    at = begin;
    const size_t next = diff.find("@@ -", hunk + 4);
    for (size_t i = diff.find('\n', hunk) + 1; i < std::min(next, diff.size()); i += 3) {
      if (diff[i] != '+') {
        EXPECT_EQ(before.substr(at, 2), diff.substr(i + 1, 2));
        at += 2;
      }
      if (diff[i] != '-') result += diff.substr(i + 1, 2);
    }
    hunk = next;
  }
  return result + before.substr(at);
}

TEST(TextDiff, TurnsOneTextIntoTheOther) {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].size() < 12) {
      texts.push_back(texts[i] + "a\n");
      texts.push_back(texts[i] + "b\n");
    }
  }
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      ASSERT_EQ(patched(a, unified_diff(a, b, "a", "b")), b) << "from " << a;
    }
  }
}

}  // namespace
}  // namespace tw
