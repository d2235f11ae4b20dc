#include "tilewright/jit/bench.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"
#include "tilewright/runtime/profile.h"

namespace tw {
namespace {

constexpr int kRounds = 21;
constexpr int kMostEvictions = 64;
constexpr int64_t kRow = 4096;  // elements that a block of evict_cache reads

/// Reads, since what a kernel wrote would be written back while the next one is timed.
constexpr const char* kEvict = R"(tilewright ir 1
program "evict_cache" {
  symbol n: i64
  input x: f32[n, 4096]
  output y: f32[n]
  launch b in n {
    alloc t: f32[1, 4096] fragment
    parallel i in 1, j in 4096 { t[i, j] = x[b + i, j] }
    alloc s: f32[1] fragment
    reduce max t -> s over [1]
    parallel i in 1 { y[b + i] = s[i] }
  }
}
)";

runtime::BenchResult sorted(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {std::move(times)};
}

CallTime call_time(const runtime::BenchResult& run, int64_t bytes, double ceiling_us) {
  CallTime time;
  time.time_us = run.median_us();
  time.spread_us = run.quantile_us(0.75) - run.quantile_us(0.25);
  time.bytes = std::max<int64_t>(bytes, 0);
  time.ceiling_us = ceiling_us;
  if (time.time_us > 0) time.share = ceiling_us / time.time_us;
  return time;
}

void check(const CallTimeOptions& options) {
  TW_REQUIRE(options.rounds >= 0, "bench: rounds is {}, must not be negative", options.rounds);
}

CallTime bench_on_cpu(const std::function<void(Stream)>& run, const CallTimeOptions& options) {
  const runtime::BenchOptions timing{.repeats = options.rounds};
  const runtime::BenchResult times = runtime::bench([&] { run({}); }, timing);
  const bool copies = options.bytes >= 2;
  return call_time(times, options.bytes,
                   copies ? runtime::time_copy(options.bytes, timing).median_us() : 0);
}

/// The time from the end of an eviction to the end of what is queued. While the device evicts, the
/// host queues the call; where it needs longer, evicting takes longer, too.
double sample_us(backend::DeviceClock& clock, const std::function<void()>& evict,
                 const std::function<void()>& queue, int& evictions) {
  while (true) {
    for (int i = 0; i < evictions; ++i) evict();
    clock.start();
    queue();
    if (const std::optional<double> us = clock.stop_us()) return *us;
    if (evictions >= kMostEvictions) break;
    evictions *= 2;
  }
  throw Error({}, {}, "bench: on {} the call waits for the device, or takes the host milliseconds",
              clock.device())
      .help("time work that is only queued, without TW_SYNC_LAUNCH");
}

}  // namespace

std::string to_text(const CallTime& time) {
  std::string text = format("{:.2f} us (middle half within {:.2f})", time.time_us, time.spread_us);
  if (time.bytes > 0 && time.time_us > 0) {
    text += format(", {:.1f} MB at {:.0f} GB/s", static_cast<double>(time.bytes) * 1e-6,
                   static_cast<double>(time.bytes) / time.time_us * 1e-3);
  }
  if (time.share > 0) text += format(", {:.0f} % of the speed of a copy", 100 * time.share);
  return text;
}

// 1. All run once: they may compile, load code or allocate.
// 2. In each round nothing, a copy and the call have their turn, each behind an eviction.
// 3. What taking the time itself costs is the median of nothing; it is subtracted from the others.
CallTime bench(const std::function<void(Stream)>& run, backend::DeviceClock& clock,
               const std::function<void()>& evict, const CallTimeOptions& options) {
  check(options);
  const int64_t half = std::max<int64_t>(options.bytes, 0) / 2;
  void* const from = half > 0 ? clock.allocate(half) : nullptr;
  void* const to = half > 0 ? clock.allocate(half) : nullptr;
  const auto call = [&] { run(clock.stream()); };
  const auto copy = [&] { clock.copy(to, from, half); };
  call();
  if (half > 0) copy();
  evict();
  clock.wait();
  std::vector<double> nothing_us, copy_us, call_us;
  int evictions = 1;
  const int rounds = options.rounds > 0 ? options.rounds : kRounds;
  for (int i = 0; i < rounds; ++i) {
    nothing_us.push_back(sample_us(clock, evict, [] {}, evictions));
    if (half > 0) copy_us.push_back(sample_us(clock, evict, copy, evictions));
    call_us.push_back(sample_us(clock, evict, call, evictions));
  }
  const double overhead_us = sorted(std::move(nothing_us)).median_us();
  for (std::vector<double>* times : {&copy_us, &call_us}) {
    for (double& us : *times) us = std::max(us - overhead_us, 0.0);
  }
  return call_time(sorted(std::move(call_us)), options.bytes,
                   half > 0 ? sorted(std::move(copy_us)).median_us() : 0);
}

CallTime bench_on(const std::string& target, const std::function<void(Stream)>& run, Device device,
                  const CallTimeOptions& options, Stream stream) {
  check(options);
  const auto clock = backend::load_backend(to_text(device.kind)).clock(device.id, stream);
  const Kernel evict = compile(ir::parse_program(kEvict, {}), {.target = target});
  const int64_t bytes = std::max<int64_t>(int64_t{256} << 20, 4 * clock->cache_bytes());
  const int64_t rows = bytes / (kRow * 4);
  const Tensor x(clock->allocate(bytes), f32, {rows, kRow}, device);
  const Tensor y(clock->allocate(rows * 4), f32, {rows}, device);
  return bench(run, *clock, [&] { evict.launch(stream, {x, y}); }, options);
}

CallTime bench(const std::function<void(Stream)>& run, Device device,
               const CallTimeOptions& options, Stream stream) {
  check(options);
  if (device.kind == DeviceKind::cpu) return bench_on_cpu(run, options);
  return bench_on(to_text(device.kind), run, device, options, stream);
}

}  // namespace tw
