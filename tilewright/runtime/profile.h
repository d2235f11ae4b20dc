// Timing of calls on the CPU by wall clock, and the numbers derived from it (language 25.1).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tilewright/runtime/metadata.h"

namespace tw::runtime {

struct BenchOptions {
  double warmup_ms = 25;
  double repeat_ms = 100;
  /// Explicit counts; 0: from a first estimate and the times above.
  int64_t warmups = 0, repeats = 0;
  /// Bytes that are read before each timed run so that caches are cold; 0: warm.
  int64_t flush_bytes = 0;
};

struct BenchResult {
  std::vector<double> times_us;  // of the runs, ascending; at least one

  /// Time below which this share of the runs lies, 0 to 1, interpolated between runs.
  double quantile_us(double share) const;
  double median_us() const { return quantile_us(0.5); }
  double min_us() const { return times_us.front(); }
  double max_us() const { return times_us.back(); }
  double mean_us() const;
  /// Rates at the median.
  double gb_per_s(double bytes) const { return bytes / median_us() * 1e-3; }
  double tflop_per_s(double flops) const { return flops / median_us() * 1e-6; }
};

/// Times `run`. When a run takes less than ten microseconds several make one measurement, so that
/// the clock's resolution does not matter.
BenchResult bench(const std::function<void()>& run, const BenchOptions& options = {});

/// Times a copy of half as many bytes, which reads and writes all of them, a part on each thread.
BenchResult time_copy(int64_t bytes, const BenchOptions& options = {});

/// Values of the symbols in the order of the metadata, from values by name, to make arguments for a
/// benchmark. A symbol without a value is E-HOST-14; a name without a symbol is an Error.
std::vector<int64_t> size_values(const KernelMetadata& metadata,
                                 const std::vector<std::pair<std::string, int64_t>>& sizes);

}  // namespace tw::runtime
