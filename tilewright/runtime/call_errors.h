// The texts of the errors of a call. Cold code: kept out of the checks themselves.
#pragma once

#include <cstdint>
#include <string>

#include "tilewright/base/error.h"
#include "tilewright/runtime/bind.h"

namespace tw::runtime {

class CallErrors {
 public:
  explicit CallErrors(const ArgumentTable& table) : table_(table), m_(table.metadata_) {}

  [[noreturn, gnu::cold]] void count(size_t given) const;                      // E-HOST-01
  [[noreturn, gnu::cold]] void kind(size_t param, const Arg& given) const;     // E-HOST-01
  [[noreturn, gnu::cold]] void rank(size_t param, const Tensor& given) const;  // E-HOST-02
  [[noreturn, gnu::cold]] void dtype(size_t param, DType given) const;         // E-HOST-03
  [[noreturn, gnu::cold]] void scalar(size_t param, const Arg& given) const;   // E-HOST-03
  [[noreturn, gnu::cold]] void device(size_t param, Device given,
                                      const Binding& binding) const;  // E-HOST-04
  /// An extent or stride that its row doesn't allow: E-HOST-05 or E-HOST-06.
  [[noreturn, gnu::cold]] void entry(size_t row, int64_t given, const Binding& binding) const;
  /// An extent or stride for which no whole symbol >= 0 exists: E-HOST-05 or E-HOST-06.
  [[noreturn, gnu::cold]] void unsolvable(size_t row, int64_t given, const Binding& binding) const;
  [[noreturn, gnu::cold]] void fact(size_t symbol, const Binding& binding) const;  // E-HOST-05
  [[noreturn, gnu::cold]] void compact(size_t param, int dim, int64_t expected,
                                       int64_t given) const;                            // E-HOST-06
  [[noreturn, gnu::cold]] void packed_stride(size_t param, const Tensor& given) const;  // E-HOST-06
  [[noreturn, gnu::cold]] void alignment(size_t param, uint64_t address) const;         // E-HOST-08
  [[noreturn, gnu::cold]] void null(size_t param) const;                                // E-HOST-09
  [[noreturn, gnu::cold]] void index_width(size_t param, int64_t span) const;           // E-HOST-13
  /// `y f32 [4] (bytes 0x1004 to 0x1014) shares memory with x ...`.
  [[noreturn, gnu::cold]] void shared(size_t param, size_t other,
                                      const Binding& binding) const;  // E-HOST-15

 private:
  template <class... Args>
  [[noreturn]] void fail(Code code, fmt::format_string<Args...> text, Args&&... args) const {
    throw Error(code, {}, "{}: {}", m_.name, tw::format(text, std::forward<Args>(args)...));
  }
  const std::string& name(size_t param) const { return m_.params[param].name; }
  /// `A.shape[1]`.
  std::string place(const EntryRow& row) const;
  /// `from A.shape[1]`, of a symbol.
  std::string origin(size_t symbol, const Binding& binding) const;
  /// `k = 4096 (from A.shape[1])`, or `2 * m + 1 = 9 (m = 4 from A.shape[0])`, or `1024`.
  std::string expected(const EntryRow& row, const Binding& binding) const;

  const ArgumentTable& table_;
  const KernelMetadata& m_;
};

}  // namespace tw::runtime
