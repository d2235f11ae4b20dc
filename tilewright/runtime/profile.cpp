#include "tilewright/runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/parallel.h"
#include "tilewright/runtime/tensor.h"

namespace tw::runtime {
namespace {

// Runs of less than this are timed several at once.
constexpr double kShortest_us = 10;

double time_us(const std::function<void()>& run, int64_t count) {
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) run();
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  return time.count();
}

// Reads a buffer, so that caches hold it and nothing else. Reading leaves no dirty lines behind.
class Flusher {
 public:
  explicit Flusher(int64_t bytes) : words_(static_cast<size_t>(bytes) / sizeof(int64_t), 1) {}
  void flush() const {
    const int64_t sum = std::accumulate(words_.begin(), words_.end(), int64_t{0});
    TW_CHECK(sum >= 0, "{}", sum);  // so that the compiler must read
  }

 private:
  std::vector<int64_t> words_;
};

int64_t runs_in(double milliseconds, double run_us) {
  return std::clamp<int64_t>(std::llround(milliseconds * 1000 / std::max(run_us, 1e-3)), 1,
                             int64_t{1} << 30);
}

}  // namespace

double BenchResult::quantile_us(double share) const {
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(times_us.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, times_us.size() - 1);
  return std::lerp(times_us[below], times_us[above], place - static_cast<double>(below));
}

double BenchResult::mean_us() const {
  return std::accumulate(times_us.begin(), times_us.end(), 0.0) /
         static_cast<double>(times_us.size());
}

// 1. One run, which isn't counted: it may compile or touch memory for the first time.
// 2. An estimate from three runs gives the numbers of warm-up and timed runs.
// 3. Timed runs, each a group of `per_measurement`; with cold caches a group is a single run.
BenchResult bench(const std::function<void()>& run, const BenchOptions& options) {
  for (const double ms : {options.warmup_ms, options.repeat_ms}) {
    TW_REQUIRE(ms >= 0 && std::isfinite(ms),
               "bench: warmup_ms is {}, repeat_ms is {}, both must be "
               "finite and not negative",
               options.warmup_ms, options.repeat_ms);
  }
  run();
  const double estimate_us = time_us(run, 3) / 3;
  const int64_t warmups =
      options.warmups > 0 ? options.warmups : runs_in(options.warmup_ms, estimate_us);
  for (int64_t i = 0; i < warmups; ++i) run();
  const int64_t repeats =
      options.repeats > 0 ? options.repeats : runs_in(options.repeat_ms, estimate_us);
  const bool cold = options.flush_bytes > 0;
  const int64_t per_measurement =
      cold ? 1
           : std::clamp<int64_t>(
                 std::llround(std::ceil(kShortest_us / std::max(estimate_us, 1e-3))), 1, repeats);
  const Flusher flusher(options.flush_bytes);
  BenchResult result;
  for (int64_t done = 0; done < repeats; done += per_measurement) {
    if (cold) flusher.flush();
    result.times_us.push_back(time_us(run, per_measurement) / static_cast<double>(per_measurement));
  }
  std::sort(result.times_us.begin(), result.times_us.end());
  return result;
}

BenchResult time_copy(int64_t bytes, const BenchOptions& options) {
  struct Halves {
    OwnedTensor from, to;
    int64_t size, parts;
  };
  Halves halves{{u8, {bytes / 2}}, {u8, {bytes / 2}}, bytes / 2, thread_count()};
  std::memset(halves.from->data(), 1, static_cast<size_t>(halves.size));
  const auto copy = [](void* context, int64_t first, int64_t last, void*) -> int32_t {
    const auto& [from, to, size, parts] = *static_cast<Halves*>(context);
    const int64_t begin = size * first / parts, end = size * last / parts;
    std::memcpy(to->data_as<char>() + begin, from->data_as<char>() + begin,
                static_cast<size_t>(end - begin));
    return 0;
  };
  return bench([&] { parallel_blocks(halves.parts, 0, copy, &halves); }, options);
}

std::vector<int64_t> size_values(const KernelMetadata& metadata,
                                 const std::vector<std::pair<std::string, int64_t>>& sizes) {
  std::vector<std::optional<int64_t>> values(metadata.symbols.size());
  for (const auto& [name, value] : sizes) {
    const auto symbol = std::find_if(metadata.symbols.begin(), metadata.symbols.end(),
                                     [&name = name](const Symbol& s) { return s.name == name; });
    TW_REQUIRE(symbol != metadata.symbols.end(), "{}: there is no size {}", metadata.name, name);
    values[static_cast<size_t>(symbol - metadata.symbols.begin())] = value;
  }
  std::vector<int64_t> result;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) {
      throw Error(codes::host_14, {}, "{}: size {} has no value", metadata.name,
                  metadata.symbols[i].name)
          .help("give one, for example {{{} = 4096}}", metadata.symbols[i].name);
    }
    result.push_back(*values[i]);
  }
  return result;
}

}  // namespace tw::runtime
