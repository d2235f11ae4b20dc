#include "tilewright/base/text_diff.h"

#include <algorithm>
#include <vector>

#include "tilewright/base/format.h"

namespace tw {
namespace {

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

struct Line {
  char mark;  // ' ', '-' or '+'
  std::string_view text;
};

/// The shortest edit script by Myers' greedy algorithm ("An O(ND) difference algorithm", 1986).
/// 1. For d = 0, 1, ... find how far each diagonal k = x - y gets with d edits; keep each round.
/// 2. Walk the rounds back from the end.
std::vector<Line> edit_script(const Lines& a, const Lines& b) {
  const auto n = static_cast<int>(a.size()), m = static_cast<int>(b.size());
  const auto same = [&](int x, int y) {
    return a[static_cast<size_t>(x)] == b[static_cast<size_t>(y)];
  };
  std::vector<std::vector<int>> rounds;
  std::vector<int> reach(2 * (a.size() + b.size()) + 3, 0);  // of diagonal k at k + offset
  const int offset = n + m + 1;
  const auto at = [&](std::vector<int>& r, int k) -> int& {
    return r[static_cast<size_t>(k + offset)];
  };
  for (int d = 0;; ++d) {
    rounds.push_back(reach);
    bool done = false;
    for (int k = -d; k <= d && !done; k += 2) {
      const bool down = k == -d || (k != d && at(reach, k - 1) < at(reach, k + 1));
      int x = down ? at(reach, k + 1) : at(reach, k - 1) + 1;
      while (x < n && x - k < m && same(x, x - k)) ++x;
      at(reach, k) = x;
      done = x >= n && x - k >= m;
    }
    if (done) break;
  }
  std::vector<Line> script;
  int x = n, y = m;
  for (auto d = static_cast<int>(rounds.size()) - 1; d >= 0; --d) {
    std::vector<int>& before = rounds[static_cast<size_t>(d)];
    const int k = x - y;
    const bool down = k == -d || (k != d && at(before, k - 1) < at(before, k + 1));
    const int from = d == 0 ? 0 : down ? at(before, k + 1) : at(before, k - 1);
    const int from_y = d == 0 ? 0 : from - (down ? k + 1 : k - 1);
    while (x > from && y > from_y && same(x - 1, y - 1)) {
      script.push_back({' ', a[static_cast<size_t>(--x)]});
      --y;
    }
    if (d == 0) break;
    script.push_back(down ? Line{'+', b[static_cast<size_t>(--y)]}
                          : Line{'-', a[static_cast<size_t>(--x)]});
  }
  std::reverse(script.begin(), script.end());
  return script;
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after,
                         std::string_view before_name, std::string_view after_name) {
  if (before == after) return {};
  constexpr size_t kContext = 3;
  const std::vector<Line> script = edit_script(lines_of(before), lines_of(after));
  std::string text = format("--- {}\n+++ {}\n", before_name, after_name);
  size_t old_line = 1, new_line = 1;  // of script[i]
  const auto advance = [&](const Line& line) {
    if (line.mark != '+') ++old_line;
    if (line.mark != '-') ++new_line;
  };
  for (size_t i = 0; i < script.size();) {
    // A hunk: from the context before the next change to where 2 * kContext lines are unchanged.
    size_t change = i;
    while (change < script.size() && script[change].mark == ' ') ++change;
    if (change == script.size()) break;
    const size_t begin = change - std::min(change - i, kContext);
    for (; i < begin; ++i) advance(script[i]);
    size_t end = change, quiet = 0;
    for (size_t j = change; j < script.size() && quiet <= 2 * kContext; ++j) {
      quiet = script[j].mark == ' ' ? quiet + 1 : 0;
      if (quiet == 0) end = j + 1;
    }
    end = std::min(end + kContext, script.size());
    const size_t old_begin = old_line, new_begin = new_line;
    std::string body;
    for (; i < end; ++i) {
      body += script[i].mark;
      body += script[i].text;
      body += '\n';
      advance(script[i]);
    }
    const auto range = [](size_t first, size_t last) {  // an empty one names the line before it
      return format("{},{}", first == last ? first - 1 : first, last - first);
    };
    text += format("@@ -{} +{} @@\n", range(old_begin, old_line), range(new_begin, new_line));
    text += body;
  }
  return text;
}

}  // namespace tw
