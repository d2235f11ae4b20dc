// Programs whose blocks work together.
#include "tests/threads/sample.h"
#include "tilewright/base/format.h"
#include "tilewright/lang/lang.h"

namespace tw::test {
namespace {

constexpr int64_t kWidth = 64;

/// Each block reads, behind a barrier of the grid, what the next one has written.
Sample grid_exchange(int64_t threads) {
  constexpr int64_t kBlocks = 6;
  Sample s{.name = format("grid_exchange_{}", threads)};
  s.program = program("grid_exchange", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kBlocks, kWidth}), h = k.inout("H", f32, {kBlocks, kWidth}),
                 y = k.output("Y", f32, {kBlocks, kWidth});
    k.launch({3, 2}, {.threads = {threads}, .cooperative = true}, [&](Expr bx, Expr by) {
      const Expr b = bx + by * 3;
      parallel({kWidth}, [&](Expr i) { h(b, i) = x(b, i) * 2.f; });
      grid_sync();
      serial(thread_idx(), kWidth, threads,
             [&](Expr i) { y(b, i) = h((b + 1) % kBlocks, kWidth - 1 - i); });
    });
  });
  s.tensors = {{f32, {kBlocks, kWidth}, counted(kBlocks * kWidth)},
               {f32, {kBlocks, kWidth}, {}},
               {f32, {kBlocks, kWidth}, {}}};
  for (int64_t b = 0; b < kBlocks; ++b) {
    for (int64_t i = 0; i < kWidth; ++i) {
      s.expected.push_back(static_cast<double>(2 * ((b + 1) % kBlocks * kWidth + kWidth - 1 - i)));
    }
  }
  return s;
}

/// A grid that stays: a few blocks share many rows, and go round several times.
Sample grid_turns() {
  constexpr int64_t kRows = 7, kBlocks = 3, kTurns = 4;
  Sample s{.name = "grid_turns"};
  s.program = program("grid_turns", [&](Builder& k) {
    const Buffer x = k.inout("X", i32, {2, kRows, kWidth}), y = k.output("Y", i32, {kRows, kWidth});
    k.launch({kBlocks}, {.threads = {kWidth}, .cooperative = true}, [&](Expr b) {
      serial(kTurns, [&](Expr turn) {
        serial(b, kRows, kBlocks, [&](Expr row) {
          const Expr t = thread_idx();
          x((turn + 1) % 2, (row + 1) % kRows, kWidth - 1 - t) = x(turn % 2, row, t) + 1;
        });
        grid_sync();
      });
      serial(b, kRows, kBlocks, [&](Expr row) { copy(x(kTurns % 2, row), y(row)); });
    });
  });
  s.tensors = {{i32, {2, kRows, kWidth}, counted(kRows * kWidth)}, {i32, {kRows, kWidth}, {}}};
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t from = (row + kRows - kTurns % kRows) % kRows;
      s.expected.push_back(static_cast<double>(from * kWidth + i + kTurns));
    }
  }
  return s;
}

/// Each block adds to what the next one has made, which is later in the grid's order.
Sample waits_for_the_next() {
  constexpr int64_t kBlocks = 4;
  Sample s{.name = "waits_for_the_next"};
  s.program = program("waits_for_the_next", [&](Builder& k) {
    const Buffer x = k.input("X", i32, {kBlocks, kWidth}), flags = k.inout("F", u32, {kBlocks}),
                 y = k.inout("Y", i32, {kBlocks, kWidth});
    relaxed_global(y);  // the flags order it
    k.launch({kBlocks}, {.threads = {kWidth}, .cooperative = true}, [&](Expr b) {
      const Expr t = thread_idx();
      Variable sum = var(i32, x(b, t));
      if_(b + 1 < kBlocks, [&] {
        wait_until(flags(b + 1), Compare::ge, 1);
        sum += y(b + 1, kWidth - 1 - t);
      });
      y(b, t) = sum;
      sync();
      if_(elect(), [&] { atomic_store(flags(b), 1, {.order = MemoryOrder::release}); });
    });
  });
  s.tensors = {{i32, {kBlocks, kWidth}, counted(kBlocks * kWidth)},
               {u32, {kBlocks}, {}},
               {i32, {kBlocks, kWidth}, {}}};
  s.expected.resize(kBlocks * kWidth);
  for (int64_t b = kBlocks - 1; b >= 0; --b) {
    for (int64_t t = 0; t < kWidth; ++t) {
      const auto at = static_cast<size_t>(b * kWidth + t);
      s.expected[at] = static_cast<double>(at);
      if (b + 1 < kBlocks) s.expected[at] += s.expected[(b + 2) * kWidth - 1 - t];
    }
  }
  return s;
}

/// One warp counts in shared memory, the other waits for each step.
Sample waits_in_the_block() {
  constexpr int64_t kSteps = 5;
  Sample s{.name = "waits_in_the_block"};
  s.program = program("waits_in_the_block", [&](Builder& k) {
    const Buffer x = k.input("X", i32, {kSteps, 32}), y = k.output("Y", i32, {kSteps, 32});
    k.launch({1}, {.threads = {64}}, [&](Expr) {
      const Buffer tile = shared(i32, {kSteps, 32}, "tile"), count = shared(u32, {1}, "count");
      if_(elect(), [&] { count(0) = cast(0, u32); });
      sync();
      const Expr lane = lane_idx();
      if_(
          warp_idx() == 0,
          [&] {
            serial(kSteps, [&](Expr i) {
              tile(i, lane) = x(i, lane);
              sync_warp();
              if_(lane == 0, [&] {
                atomic_add(count(0), 1,
                           {.order = MemoryOrder::release, .scope = AtomicScope::block});
              });
            });
          },
          [&] {
            serial(kSteps, [&](Expr i) {
              wait_until(count(0), Compare::ge, cast(i + 1, u32), AtomicScope::block);
              y(i, lane) = tile(i, 31 - lane);
            });
          });
    });
  });
  s.tensors = {{i32, {kSteps, 32}, counted(kSteps * 32)}, {i32, {kSteps, 32}, {}}};
  for (int64_t i = 0; i < kSteps; ++i) {
    for (int64_t t = 0; t < 32; ++t) s.expected.push_back(static_cast<double>(i * 32 + 31 - t));
  }
  return s;
}

/// Warp-groups hand registers to each other.
Sample registers() {
  Sample s{.name = "registers"};
  s.program = program("registers", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {256}), y = k.output("Y", f32, {256});
    k.launch({1}, {.threads = {256}}, [&](Expr) {
      const Expr t = thread_idx();
      if_(warpgroup_idx() == 0, [] { reg_decrease(40); }, [] { reg_increase(232); });
      y(t) = x(255 - t) + 1.f;
    });
  });
  s.tensors = {{f32, {256}, counted(256)}, {f32, {256}, {}}};
  for (int64_t t = 0; t < 256; ++t) s.expected.push_back(static_cast<double>(256 - t));
  return s;
}

// ---- clusters

/// A grid that is no multiple of the cluster; blocks past it take part in barriers alone.
Sample padded_grid() {
  constexpr int64_t kRows = 5;
  Sample s{.name = "padded_grid"};
  s.program = program("padded_grid", [&](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer x = k.input("X", f32, {n, kWidth}), y = k.output("Y", f32, {n, kWidth});
    const LaunchOptions options{.threads = {kWidth}, .cluster = {2}, .pad_grid = true};
    k.launch({n}, options, [&](Expr b) {
      const Buffer tile = shared(f32, {kWidth}, "tile");
      copy(x(b), tile);
      cluster_sync();
      const Expr other = 1 - block_rank_in_cluster();
      const Expr t = thread_idx();
      if_(b < n, [&] { y(b, t) = remote(tile, other)(t) + cast(num_clusters(), f32); });
      cluster_sync();
    });
  });
  s.tensors = {{f32, {kRows, kWidth}, counted(kRows * kWidth)}, {f32, {kRows, kWidth}, {}}};
  for (int64_t b = 0; b < kRows; ++b) {
    for (int64_t t = 0; t < kWidth; ++t) {
      s.expected.push_back((b ^ 1) < kRows ? static_cast<double>((b ^ 1) * kWidth + t + 3) : 3.0);
    }
  }
  return s;
}

Sample cluster_queries() {
  Sample s{.name = "cluster_queries"};
  s.program = program("cluster_queries", [&](Builder& k) {
    const Expr n = k.dim("n");
    const Buffer y = k.inout("Y", i32, {4, n, 8});
    k.launch({n, 4}, {.threads = {32}, .cluster = {3, 2}}, [&](Expr bx, Expr by) {
      const auto put = [&](int64_t i, const Expr& value) { y(by, bx, i) = cast(value, i32); };
      if_(elect(), [&] {
        put(0, cluster_idx());
        put(1, cluster_idx(1));
        put(2, cluster_idx(2));
        put(3, Expr(cluster_dim() + 10 * cluster_dim(1) + 100 * cluster_dim(2)));
        put(4, num_clusters());
        put(5, num_clusters(1));
        put(6, num_clusters(2));
        put(7, block_rank_in_cluster());
      });
    });
  });
  s.tensors = {{i32, {4, 6, 8}, {}}};
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 6; ++x) {
      for (const int v : {x / 3, y / 2, 0, 123, 2, 2, 1, x % 3 + 3 * (y % 2)}) {
        s.expected.push_back(v);
      }
    }
  }
  return s;
}

/// Blocks read each other's memory: by tile operations and by single threads.
Sample cluster_reads(int64_t blocks, DType dtype) {
  const int64_t all = 2 * blocks;
  Sample s{.name = format("cluster_reads_{}_{}", blocks, dtype)};
  s.program = program("cluster_reads", [&](Builder& k) {
    const Buffer x = k.input("X", dtype, {all, kWidth}), y = k.output("Y", dtype, {all, kWidth});
    k.launch({all}, {.threads = {kWidth}, .cluster = {blocks}}, [&](Expr b) {
      const Buffer tile = shared(dtype, {kWidth}, "tile"), next = shared(dtype, {kWidth}, "next");
      copy(x(b), tile);
      cluster_sync();
      const Expr rank = block_rank_in_cluster();
      copy(remote(tile, (rank + 1) % blocks), next);
      const Expr t = thread_idx();
      const Buffer last = remote(tile, (rank + blocks - 1) % blocks);
      y(b, t) = next(kWidth - 1 - t) + last(t);
      cluster_sync();
    });
  });
  s.tensors = {{dtype, {all, kWidth}, {}}, {dtype, {all, kWidth}, {}}};
  const auto value = [](int64_t b, int64_t i) { return static_cast<double>(b + i % 8); };
  for (int64_t b = 0; b < all; ++b) {
    const int64_t first = b / blocks * blocks;
    for (int64_t i = 0; i < kWidth; ++i) {
      s.tensors[0].values.push_back(value(b, i));
      s.expected.push_back(value(first + (b + 1) % blocks, kWidth - 1 - i) +
                           value(first + (b + blocks - 1) % blocks, i));
    }
  }
  return s;
}

/// Blocks write to each other and count there, with the halves of the barrier apart.
Sample cluster_writes() {
  Sample s{.name = "cluster_writes"};
  s.program = program("cluster_writes", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {2, 4, kWidth}), y = k.output("Y", f32, {2, 4, kWidth});
    k.launch({4, 2}, {.threads = {kWidth}, .cluster = {2, 2}}, [&](Expr bx, Expr by) {
      const Buffer tile = shared(f32, {kWidth}, "tile"), counts = shared(i32, {2}, "counts"),
                   moved = shared(f32, {2, kWidth / 2}, "moved");
      const Expr t = thread_idx(), rank = block_rank_in_cluster();
      fill(counts, 0);
      cluster_arrive();
      const Expr own = let(x(by, bx, t));  // meanwhile
      cluster_wait();
      const Buffer there = remote(tile, 3 - rank);
      there(kWidth - 1 - t) = own;
      atomic_add(remote(counts, 3 - rank)(t % 2), cast(rank, i32));
      const Expr before = atomic_add(remote(counts, 0)(t % 2), 0, {.ret = true});
      reshape(remote(moved, rank ^ 1), {kWidth})(t) = if_else(before < 0, -1.f, own);
      cluster_sync();
      y(by, bx, t) = tile(t) + cast(counts(0) + counts(1), f32) + moved(t / 32, t % 32) * 0.5f;
    });
  });
  s.tensors = {{f32, {2, 4, kWidth}, counted(8 * kWidth)}, {f32, {2, 4, kWidth}, {}}};
  for (int64_t by = 0; by < 2; ++by) {
    for (int64_t bx = 0; bx < 4; ++bx) {
      const int64_t rank = bx % 2 + 2 * by, first = bx / 2 * 2;
      const auto row = [&](int64_t r) { return (r / 2 * 4 + first + r % 2) * kWidth; };
      for (int64_t t = 0; t < kWidth; ++t) {
        s.expected.push_back(static_cast<double>(row(3 - rank) + kWidth - 1 - t) +
                             static_cast<double>((3 - rank) * kWidth) +
                             static_cast<double>(row(rank ^ 1) + t) / 2);
      }
    }
  }
  return s;
}

/// The first block of a cluster hands tiles to the second, which answers when a slot is free.
Sample cluster_ring() {
  constexpr int64_t kTiles = 5, kSlots = 2;
  Sample s{.name = "cluster_ring"};
  s.program = program("cluster_ring", [&](Builder& k) {
    const Buffer x = k.input("X", f32, {kTiles, kWidth}), y = k.output("Y", f32, {kTiles, kWidth});
    k.launch({2}, {.threads = {kWidth}, .cluster = {2}}, [&](Expr b) {
      const Buffer slots = shared(f32, {kSlots, kWidth}, "slots");
      const PhaseBarriers full = cluster_barrier({kWidth, kWidth}, "full"),
                          empty = cluster_barrier({1, 1}, "empty");
      const Expr t = thread_idx();
      const Buffer there = remote(slots, 1);
      serial(kTiles, [&](Expr i) {
        const Expr slot = i % kSlots, turn = i / kSlots;
        if_(
            b == 0,
            [&] {
              empty[slot].wait((turn + 1) % 2);
              there(slot, t) = x(i, t);
              full[slot].arrive_remote(1);
            },
            [&] {
              full[slot].wait(turn % 2);
              y(i, t) = slots(slot, kWidth - 1 - t);
              sync();
              if_(elect(), [&] { empty[slot].arrive_remote(0); });
            });
      });
      cluster_sync();
    });
  });
  s.tensors = {{f32, {kTiles, kWidth}, counted(kTiles * kWidth)}, {f32, {kTiles, kWidth}, {}}};
  for (int64_t i = 0; i < kTiles; ++i) {
    for (int64_t t = 0; t < kWidth; ++t) {
      s.expected.push_back(static_cast<double>(i * kWidth + kWidth - 1 - t));
    }
  }
  return s;
}

}  // namespace

std::vector<Sample> block_samples() {
  return {grid_exchange(64),     grid_exchange(96),      grid_turns(),         cluster_queries(),
          cluster_reads(2, f32), cluster_reads(4, bf16), cluster_writes(),     cluster_ring(),
          padded_grid(),         waits_for_the_next(),   waits_in_the_block(), registers()};
}

}  // namespace tw::test
