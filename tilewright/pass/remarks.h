// What passes tell an author about an operation: what became of it, and why. `explain` prints it.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/base/source_loc.h"

namespace tw::pass {

struct Remark {
  SourceLoc where;   // the author's line
  std::string what;  // "loads x by 16 bytes"
  std::string why;   // empty: nothing better was wanted
};

/// In the order in which they were made, each once.
class Remarks {
 public:
  void add(Remark remark) {
    const bool known = std::any_of(list_.begin(), list_.end(), [&](const Remark& r) {
      return r.where.line == remark.where.line && r.what == remark.what && r.why == remark.why;
    });
    if (!known) list_.push_back(std::move(remark));
  }
  const std::vector<Remark>& list() const { return list_; }

 private:
  std::vector<Remark> list_;
};

}  // namespace tw::pass
