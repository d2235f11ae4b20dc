// A call of a library function from Python: takes the caller's arrays as tensors, allocates what
// the caller left out, runs without the GIL, and returns arrays of the caller's kind.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "array.h"

namespace tw::python {

/// One call. The arrays that it took stay locked in memory until it ends. All but
/// run() needs the GIL.
class Call {
 public:
  /// `function` begins every message. `dtype`, if given, is what arrays of unsigned integers of its
  /// width hold: numpy has no bf16 and no fp8.
  explicit Call(const char* function, const std::optional<std::string>& dtype = {});

  /// The array as a tensor. Whatever isn't an array is a TypeError.
  Tensor input(const char* name, const Array& array) { return input(name, array, dtype_); }
  Tensor input(const char* name, const Array& array, std::optional<DType> unsigned_as);
  /// The same, or nothing for None.
  std::optional<Tensor> input(const char* name, const MaybeArray& array);

  /// What the function writes and returns: `out`, or for None a new array of the first input's
  /// kind. A read-only `out` is a ValueError.
  Tensor output(const char* name, const MaybeArray& out, DType dtype, const Shape& shape);
  /// An array that the function writes; result() has it if it is `returned`.
  Tensor output(const char* name, const Array& out, std::optional<DType> unsigned_as,
                bool returned = true);
  Tensor new_output(DType dtype, const Shape& shape);
  /// A new [m, n], column by column, which begin `pitch` elements apart.
  Tensor new_columns(DType dtype, int64_t m, int64_t n, int64_t pitch);
  /// Memory on the device of the arrays until the call ends.
  void* workspace(int64_t bytes);

  /// That stream; on the CPU none.
  Stream stream() const { return framework_ ? framework_->current_stream() : Stream{}; }

  /// Runs it without the GIL, on the current stream of the arrays' framework.
  template <class Run>
  void run(const Run& run) const {
    const Stream current = stream();
    const nb::gil_scoped_release released;
    run(current);
  }

  /// The outputs in order: None, one, or a tuple.
  nb::any result() const;

 private:
  const Borrowed& take(const char* name, const Array& array, std::optional<DType> unsigned_as);

  const char* function_;
  std::optional<DType> dtype_;
  std::optional<Framework> framework_;  // of the first array
  std::vector<Borrowed> borrowed_;
  struct Output {
    Framework::Made made;
    bool is_new;
  };
  std::vector<Output> outputs_;
  std::vector<nb::object> workspaces_;
};

/// Extent of a dimension, 0 where the tensor has none: for shapes of outputs, which are made before
/// the function checks its arguments.
inline int64_t dim_or_0(const Tensor& tensor, int i) {
  return i < tensor.rank() ? tensor.dim(i) : 0;
}

/// For optional arguments of the library, which are pointers.
inline const Tensor* pointer(const std::optional<Tensor>& tensor) {
  return tensor ? &*tensor : nullptr;
}

}  // namespace tw::python
