#include "tilewright/runtime/overlap.h"

#include <algorithm>

#include "tilewright/base/integer.h"

namespace tw {
namespace {

/// The bits of a tensor from its first one on: runs of `width`, repeated along dimensions with
/// strides that fall and are larger than `width`.
struct Pattern {
  struct Dim {
    int64_t stride, extent;
  };
  Dim dims[kMaxRank];
  int64_t spans[kMaxRank + 1];  // from the first to the last bit of what dims[i] and on repeat
  int rank = 0;
  int64_t width;

  explicit Pattern(const Tensor& tensor) : width(tensor.dtype().bits()) {
    for (int i = 0; i < tensor.rank(); ++i) {
      const int64_t stride = tensor.stride(i) * width;
      if (tensor.dim(i) > 1 && stride != 0) dims[rank++] = {std::abs(stride), tensor.dim(i)};
    }
    std::sort(dims, dims + rank, [](Dim a, Dim b) { return a.stride > b.stride; });
    for (; rank > 0 && dims[rank - 1].stride <= width; --rank) {
      width += (dims[rank - 1].extent - 1) * dims[rank - 1].stride;
    }
    spans[rank] = width;
    for (int i = rank - 1; i >= 0; --i) {
      spans[i] = spans[i + 1] + (dims[i].extent - 1) * dims[i].stride;
    }
  }
};

class Search {
 public:
  Search(const Pattern& a, const Pattern& b) : a_(a), b_(b) {}

  /// Whether what dims from i on of a repeat meets what those from j on of b do, which begins
  /// `offset` bits later. The larger stride is followed: only the repetitions that reach into the
  /// other's span matter. At the same stride only the difference of the two indices does.
  bool meet(int i, int j, int64_t offset) {
    if (offset >= a_.spans[i] || offset + b_.spans[j] <= 0 || ++steps_ > kMostSteps) return false;
    if (i == a_.rank && j == b_.rank) return true;
    const int64_t stride_a = i < a_.rank ? a_.dims[i].stride : 0;
    const int64_t stride_b = j < b_.rank ? b_.dims[j].stride : 0;
    const int64_t stride = std::max(stride_a, stride_b);
    const bool of_a = stride_a == stride, of_b = stride_b == stride;
    const int64_t span_a = a_.spans[i + of_a], span_b = b_.spans[j + of_b];
    // All k between the bounds with -span_b < offset + k * stride < span_a.
    const int64_t least = of_a ? 1 - a_.dims[i].extent : 0;
    const int64_t most = of_b ? b_.dims[j].extent - 1 : 0;
    const int64_t first = std::max(least, floor_div(-span_b - offset, stride) + 1);
    const int64_t last = std::min(most, floor_div(span_a - offset - 1, stride));
    for (int64_t k = first; k <= last; ++k) {
      if (meet(i + of_a, j + of_b, offset + k * stride)) return true;
    }
    return false;
  }

 private:
  static constexpr int kMostSteps = 20'000;
  const Pattern &a_, &b_;
  int steps_ = 0;
};

}  // namespace

bool share_memory(const Tensor& a, const Tensor& b) {
  const Reach of_a = reach_of(a), of_b = reach_of(b);
  if (a.device() != b.device() || !of_a.meets(of_b)) return false;
  return Search(Pattern(a), Pattern(b)).meet(0, 0, static_cast<int64_t>(of_b.begin - of_a.begin));
}

}  // namespace tw
