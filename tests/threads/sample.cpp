#include "tests/threads/sample.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tilewright/base/convert.h"
#include "tilewright/lang/lang.h"

namespace tw::test {

std::vector<double> counted(size_t n, double first) {
  std::vector<double> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

SampleMemory::SampleMemory(const Sample& sample) {
  for (const SampleTensor& t : sample.tensors) {
    size_t elements = 1;
    for (const int64_t extent : t.shape) elements *= static_cast<size_t>(extent);
    const auto width = static_cast<size_t>(t.dtype.bits()) / 8;
    std::vector<std::byte>& bytes = bytes_.emplace_back(elements * width);
    for (size_t i = 0; i < std::min(elements, t.values.size()); ++i) {
      const uint64_t bits = encode(t.values[i], t.dtype);
      std::memcpy(bytes.data() + i * width, &bits, width);
    }
    arguments_.push_back(sim::Argument::tensor(bytes.data(), t.dtype, t.shape));
  }
}

std::vector<double> SampleMemory::result() const {
  const DType dtype = arguments_.back().dtype;
  const auto width = static_cast<size_t>(dtype.bits()) / 8;
  std::vector<double> values;
  for (size_t i = 0; i < bytes_.back().size() / width; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes_.back().data() + i * width, width);
    values.push_back(decode(bits, dtype));
  }
  return values;
}

namespace {

/// The sum of each row, by shuffles and a table of a value for each warp.
Sample block_sum(int64_t threads) {
  constexpr int64_t kRows = 3, kColumns = 1000;
  Sample s{.name = format("block_sum_{}", threads)};
  s.program = program("block_sum", [&](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("X", f32, {n, kColumns}), y = k.output("Y", f32, {n});
    k.launch({n}, {.threads = {threads}}, [&](Expr row) {
      const Buffer sums = shared(f32, {threads / 32}, "sums");
      Variable sum = var(f32, 0);
      serial(thread_idx(), kColumns, threads, [&](Expr i) { sum += x(row, i); });
      const Expr total = warp_reduce(ReduceKind::sum, sum);
      if_(lane_idx() == 0, [&] { sums(warp_idx()) = total; });
      if_(thread_idx() == 0, [&] {
        Variable all = var(f32, 0);
        serial(threads / 32, [&](Expr w) { all += sums(w); });
        y(row) = all;
      });
    });
  });
  s.tensors = {{f32, {kRows, kColumns}, counted(kRows * kColumns)}, {f32, {kRows}, {}}};
  for (double first = 0; first < 3000; first += 1000) {
    s.expected.push_back(first * 1000 + 999 * 500);
  }
  return s;
}

/// Neighbors exchange through shared memory, between tile operations.
Sample exchange(int64_t threads) {
  Sample s{.name = format("exchange_{}", threads)};
  s.program = program("exchange", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {threads}), y = k.output("Y", f32, {threads});
    k.launch({1}, {.threads = {threads}}, [&](Expr) {
      const Buffer tile = shared(f32, {threads}, "tile"), back = shared(f32, {threads}, "back");
      copy(x, tile);
      const Expr t = thread_idx();
      back(t) = tile(threads - 1 - t);
      parallel({threads}, [&](Expr i) { back(i) = back(i) * 2.f; });
      tile(threads - 1 - t) = back(t) + 1.f;
      copy(tile, y);
    });
  });
  s.tensors = {{f32, {threads}, counted(static_cast<size_t>(threads))}, {f32, {threads}, {}}};
  for (int64_t i = 0; i < threads; ++i) s.expected.push_back(static_cast<double>(2 * i + 1));
  return s;
}

/// Two warps make values, two others use them, by named barriers over two buffers.
Sample producer_consumer() {
  constexpr int64_t kTurns = 5, kHalf = 64;
  Sample s{.name = "producer_consumer"};
  s.program = program("producer_consumer", [&](Builder& k) {
    const Buffer x = k.input("X", i32, {kTurns, kHalf}), y = k.output("Y", i32, {kTurns, kHalf});
    k.launch({1}, {.threads = {2 * kHalf}}, [&](Expr) {
      const Buffer slots = shared(i32, {2, kHalf}, "slots");
      const int64_t full[] = {barrier_id(), barrier_id()}, empty[] = {barrier_id(), barrier_id()};
      const Expr t = thread_idx();
      const auto each_turn = [&](const std::function<void(int, int)>& f) {
        for (int turn = 0; turn < kTurns; ++turn) f(turn, turn % 2);
      };
      if_(
          t < kHalf,
          [&] {
            each_turn([&](int turn, int slot) {
              if (turn >= 2) sync(empty[slot], 2 * kHalf);
              slots(slot, t) = x(turn, t) * 3;
              barrier_arrive(full[slot], 2 * kHalf);
            });
          },
          [&] {
            const Expr me = t - kHalf;
            each_turn([&](int turn, int slot) {
              sync(full[slot], 2 * kHalf);
              y(turn, me) = slots(slot, kHalf - 1 - me);
              if (turn + 2 < kTurns) barrier_arrive(empty[slot], 2 * kHalf);
            });
          });
    });
  });
  s.tensors = {{i32, {kTurns, kHalf}, counted(kTurns * kHalf)}, {i32, {kTurns, kHalf}, {}}};
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < kHalf; ++i) s.expected.push_back(3 * (turn * kHalf + kHalf - 1 - i));
  }
  return s;
}

/// What lanes tell each other, in words of 8 to 64 bits.
Sample warp_words() {
  constexpr int64_t kThreads = 64, kWords = 16;
  Sample s{.name = "warp_words"};
  s.program = program("warp_words", [&](Builder& k) {
    const Buffer y = k.output("Y", f64, {kWords, kThreads});
    k.launch({1}, {.threads = {kThreads}}, [&](Expr) {
      const Expr t = thread_idx(), lane = lane_idx();
      int64_t row = 0;
      const auto put = [&](const Expr& value) { y(row++, t) = cast(value, f64); };
      put(shfl(cast(t, i32), 5));
      put(shfl_xor(cast(t, f16), 3));
      put(shfl_up(cast(t, bf16), 1, 8));
      put(shfl_down(cast(t, i64), 2, 16));
      put(shfl_xor(cast(cast(lane, f32), f8_e4m3), 1));
      put(shfl(cast(t, u8), lane / 2));
      put(shfl_xor(cast(t, f64), 16));
      put(cast(vote_any(t == 40), i32));
      put(cast(vote_all(t < 40), i32));
      put(ballot(lane % 2 == 0));
      put(match_any(cast(lane / 8, i32)));
      put(match_all(cast(warp_idx(), f32)));
      put(warp_reduce(ReduceKind::max, cast(t, i32)));
      put(warp_reduce(ReduceKind::sum, cast(t, f32), 4));
      put(warp_reduce(ReduceKind::bit_xor, cast(t, u64)));
      put(warp_reduce(ReduceKind::min, cast(t, f16), 16));
    });
  });
  s.tensors = {{f64, {kWords, kThreads}, {}}};
  const std::function<int(int)> rows[] = {
      [](int t) { return t / 32 * 32 + 5; },
      [](int t) { return t ^ 3; },
      [](int t) { return t % 8 == 0 ? t : t - 1; },
      [](int t) { return t % 16 >= 14 ? t : t + 2; },
      [](int t) { return -1 - t; },  // below
      [](int t) { return t / 32 * 32 + t % 32 / 2; },
      [](int t) { return t ^ 16; },
      [](int t) { return t / 32; },
      [](int t) { return 1 - t / 32; },
      [](int) { return 0x55555555; },
      [](int) { return 0; },  // below
      [](int) { return -1; },
      [](int t) { return t / 32 * 32 + 31; },
      [](int t) { return t / 4 * 16 + 6; },
      [](int) { return 0; },
      [](int t) { return t / 16 * 16; },
  };
  for (const auto& row : rows) {
    for (int t = 0; t < kThreads; ++t) s.expected.push_back(row(t));
  }
  for (size_t t = 0; t < kThreads; ++t) {
    const size_t lane = t % 32;
    const uint64_t other = encode(static_cast<double>(lane ^ 1), f8_e4m3);
    s.expected[4 * kThreads + t] = decode(other, f8_e4m3);
    s.expected[10 * kThreads + t] = static_cast<double>(uint64_t{255} << (lane / 8 * 8));
    s.expected[11 * kThreads + t] = 4294967295.0;
  }
  return s;
}

/// Barriers that fold, fences, atomics of single threads, three-dimensional blocks.
Sample folding_barriers() {
  Sample s{.name = "folding_barriers"};
  s.program = program("folding_barriers", [&](Builder& k) {
    const Buffer c = k.inout("C", i32, {4});
    const Buffer y = k.output("Y", i32, {4, 3, 4});
    k.launch({1}, {.threads = {4, 3, 4}}, [&](Expr) {
      const Expr tx = thread_idx(0), ty = thread_idx(1), tz = thread_idx(2);
      const Expr odd = sync_count(tx % 2 == 1);
      const Expr all = sync_and(ty < 3), any = sync_or(tz == 9);
      const Expr before = atomic_add(c(tx), 1, {.ret = true});
      fence();
      if_(all && !any, [&] { y(tz, ty, tx) = odd + if_else(before < 12, 0, 100); });
      sync();
      if_(elect(), [&] { atomic_add(c(0), 1); });
      if_(elect() && atomic_load(c(0)) != 13, [&] { y(0, 0, 0) = -1; });
    });
  });
  s.tensors = {{i32, {4}, {}}, {i32, {4, 3, 4}, {}}};
  s.expected.assign(48, 24);
  return s;
}

// ---- asynchronous copies

constexpr int64_t kTile = 64;

/// A ring of two slots: one warp starts the loads, two others use them.
Sample ring_of_loads(TmaForm form) {
  constexpr int64_t kTiles = 5, kSlots = 2;
  Sample s{.name = form == TmaForm::bulk ? "ring_in_bulk" : "ring_by_descriptor"};
  s.program = program("ring", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kTiles, kTile}), y = k.output("Y", f32, {kTiles, kTile});
    k.launch({1}, {.threads = {96}}, [&](Expr) {
      const Buffer ring = shared(f32, {kSlots, kTile}, "ring");
      const PhaseBarriers full = barrier({1, 1}, "full"), empty = barrier({64, 64}, "empty");
      const Expr t = thread_idx();
      if_(
          t == 64,
          [&] {
            serial(kTiles, [&](Expr i) {
              empty[i % kSlots].wait((i / kSlots + 1) % 2);
              tma_load(x(i, all), ring(i % kSlots, all), full[i % kSlots], {.form = form});
            });
          },
          [&] {
            if_(t < 64, [&] {
              serial(kTiles, [&](Expr i) {
                full[i % kSlots].wait(i / kSlots % 2);
                y(i, t) = ring(i % kSlots, kTile - 1 - t);
                empty[i % kSlots].arrive();
              });
            });
          });
    });
  });
  s.tensors = {{f32, {kTiles, kTile}, counted(kTiles * kTile)}, {f32, {kTiles, kTile}, {}}};
  for (int i = 0; i < kTiles; ++i) {
    for (int j = 0; j < kTile; ++j) s.expected.push_back(i * kTile + kTile - 1 - j);
  }
  return s;
}

/// Tiles are brought one turn ahead by the threads' own engine; `dtype` decides how wide.
Sample double_buffering(DType dtype, int64_t width, int64_t threads) {
  constexpr int64_t kTiles = 4;
  Sample s{.name = format("double_buffering_{}_{}_{}", dtype, width, threads)};
  s.program = program("double_buffering", [&](Builder& k) {
    const Buffer x = k.input("X", dtype, {kTiles, width}),
                 y = k.output("Y", dtype, {kTiles, width});
    k.launch({1}, {.threads = {threads}}, [&](Expr) {
      const Buffer tiles = shared(dtype, {2, width}, "tiles");
      const auto fetch = [&](const Expr& i) {
        async_copy(x(i, all), tiles(i % 2, all));
        commit();
      };
      fetch(0);
      serial(kTiles, [&](Expr i) {
        if_(i + 1 < kTiles, [&] { fetch(i + 1); }, [&] { commit(); });
        wait_group(1);
        parallel({width}, [&](Expr j) { y(i, j) = tiles(i % 2, width - 1 - j); });
      });
    });
  });
  const auto n = static_cast<size_t>(kTiles * width);
  s.tensors = {{dtype, {kTiles, width}, {}}, {dtype, {kTiles, width}, {}}};
  for (size_t i = 0; i < n; ++i) s.tensors[0].values.push_back(static_cast<double>(i % 16));
  for (size_t i = 0; i < n; ++i) {
    const auto w = static_cast<size_t>(width);
    s.expected.push_back(static_cast<double>((i / w * w + w - 1 - i % w) % 16));
  }
  return s;
}

/// Each thread brings its own 16 bytes; the last are cut off by the end of the tensor.
Sample own_copies() {
  constexpr int64_t kLength = 120;
  Sample s{.name = "own_copies"};
  s.program = program("own_copies", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kLength}, {.align = 16}), y = k.output("Y", f32, {128});
    k.launch({1}, {.threads = {32}}, [&](Expr) {
      const Buffer tile = shared(f32, {128}, "tile");
      const Expr t = thread_idx();
      async_copy(x(at(t * 4, 4)), tile(at(t * 4, 4)));
      commit();
      wait_group(0);
      serial(4, [&](Expr i) { y(t + i * 32) = tile(127 - t - i * 32); });
    });
  });
  s.tensors = {{f32, {kLength}, counted(kLength)}, {f32, {128}, {}}};
  for (int i = 0; i < 128; ++i) s.expected.push_back(127 - i < kLength ? 127 - i : 0);
  return s;
}

/// The whole block loads a box with gaps at the edges, turns it and stores and adds it.
Sample boxes(int64_t columns, int64_t threads) {
  constexpr int64_t kRows = 10;
  Sample s{.name = format("boxes_{}_{}", columns, threads)};
  s.program = program("boxes", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kRows, columns}), z = k.inout("Z", f32, {kRows, columns});
    k.launch({2}, {.threads = {threads}}, [&](Expr b) {
      const Buffer in = shared(f32, {8, columns}, "in"), out = shared(f32, {8, columns}, "out");
      const PhaseBarriers here = barrier({1});
      tma_load(x(at(b * 8, 8), all), in, here[0]);
      here[0].wait(0);
      parallel({8, columns}, [&](Expr i, Expr j) { out(i, j) = in(i, columns - 1 - j); });
      tma_store(out, z(at(b * 8, 8), all));
      tma_store_commit();
      tma_store_wait(0);
      parallel({8, columns}, [&](Expr i, Expr j) { out(i, j) = in(i, j) * 2.f; });
      tma_reduce(ReduceKind::sum, out, z(at(b * 8, 8), all));
      tma_store_commit();
      tma_store_wait_read(0);
    });
  });
  const auto n = static_cast<size_t>(kRows * columns), w = static_cast<size_t>(columns);
  s.tensors = {{f32, {kRows, columns}, counted(n)}, {f32, {kRows, columns}, {}}};
  for (size_t i = 0; i < n; ++i) {
    s.expected.push_back(static_cast<double>(2 * i + i / w * w + w - 1 - i % w));
  }
  return s;
}

/// The second launch begins early and waits where it reads what the first wrote.
Sample dependent() {
  Sample s{.name = "dependent"};
  s.program = program("dependent", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {64}), h = k.inout("H", f32, {64}),
                 y = k.output("Y", f32, {64});
    k.launch({1}, {.threads = {64}}, [&](Expr) {
      parallel({64}, [&](Expr i) { h(i) = x(i) + 1.f; });
      trigger_next();
    });
    k.launch({1}, {.threads = {64}, .dependent_launch = true}, [&](Expr) {
      const Buffer tile = shared(f32, {64}, "tile");
      copy(x, tile);
      wait_previous();
      parallel({64}, [&](Expr i) { y(i) = h(i) * tile(i); });
    });
  });
  s.tensors = {{f32, {64}, counted(64)}, {f32, {64}, {}}, {f32, {64}, {}}};
  for (int i = 0; i < 64; ++i) s.expected.push_back((i + 1) * i);
  return s;
}

}  // namespace

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> all = [] {
    std::vector<Sample> list = {
        block_sum(128),
        block_sum(32),
        exchange(128),
        exchange(48),
        exchange(72),
        producer_consumer(),
        warp_words(),
        folding_barriers(),
        ring_of_loads(TmaForm::bulk),
        ring_of_loads(TmaForm::descriptor),
        double_buffering(f32, 64, 64),
        double_buffering(f32, 63, 48),
        double_buffering(bf16, 40, 32),
        double_buffering(bf16, 33, 40),
        double_buffering(f8_e4m3, 18, 32),
        own_copies(),
        boxes(64, 128),
        boxes(320, 96),
        dependent(),
    };
    for (Sample& s : block_samples()) list.push_back(std::move(s));
    return list;
  }();
  return all;
}

}  // namespace tw::test
