// A row is sorted in short lists, of which each of `count` rounds takes a head.
#include "tilewright/kernels/select/best.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <utility>

#include "tilewright/base/format.h"

namespace tw::kernels {
namespace {

/// Pairs of places that sort `count` elements when they are compared in this order (Batcher's
/// odd-even merge sort; Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M).
std::vector<std::pair<int64_t, int64_t>> sorting_network(int64_t count) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const auto size = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
  for (int64_t p = size / 2; p > 0; p /= 2) {
    for (int64_t q = size / 2, r = 0, d = p; d > 0; d = q - p, q /= 2, r = p) {
      for (int64_t i = 0; i < count - d; ++i) {
        if ((i & p) == r) pairs.emplace_back(i, i + d);
      }
    }
  }
  return pairs;
}

/// Sorts the buffers' entries at i, l: the largest key first, of equal keys the lowest column,
/// where there are columns. They come in the order of their columns.
void sort(const std::vector<Buffer>& keys, const std::vector<Buffer>& columns, const Expr& i,
          const Expr& l) {
  std::vector<Expr> key, column;
  for (const Buffer& b : keys) key.push_back(let(b(i, l)));
  for (const Buffer& b : columns) column.push_back(let(b(i, l)));
  std::vector<bool> moved(keys.size());
  for (const auto& [p, q] : sorting_network(static_cast<int64_t>(keys.size()))) {
    const auto a = static_cast<size_t>(p), b = static_cast<size_t>(q);
    if (columns.empty()) {
      const Expr larger = let(max(key[a], key[b]));
      key[b] = let(min(key[a], key[b]));
      key[a] = larger;
      continue;
    }
    Expr swaps = key[a] < key[b];
    if (moved[a] || moved[b]) swaps = swaps || (key[a] == key[b] && column[a] > column[b]);
    swaps = let(swaps);
    moved[a] = moved[b] = true;
    for (std::vector<Expr>* list : {&key, &column}) {
      const Expr first = let(select(swaps, (*list)[b], (*list)[a]));
      (*list)[b] = let(select(swaps, (*list)[a], (*list)[b]));
      (*list)[a] = first;
    }
  }
  for (size_t c = 0; c < keys.size(); ++c) {
    keys[c](i, l) = key[c];
    if (!columns.empty()) columns[c](i, l) = column[c];
  }
}

template <class Round>
void in_rounds(int64_t count, const Round& round) {
  if (count <= 8) {  // then later rounds shift less
    unroll(0, count, {.full = true}, round);
  } else {
    serial(count, round);
  }
}

/// Lists are of neighbors, so that of equal keys the lowest list has the lowest column, and are
/// sorted without their columns: a result finds its column by its key again.
Found find_staged(const Search& search, int64_t width, const KeysOf& keys_of,
                  const ListsOf& lists_that_stay) {
  const int64_t rows = search.rows, h = search.h, count = search.count, lists = search.lists();
  const int64_t length = lang::cdiv(h, lists), strip = 4 * lists,
                padded = lang::cdiv(h, strip) * strip;
  const Buffer all = shared(i32, {rows, padded}, "all");
  parallel({rows, padded}, [&](Expr i, Expr column) {
    const Expr key = keys_of(i, {column})[0];
    all(i, column) = length * lists == h ? key : select(column < h, key, INT_MIN);
  });
  std::vector<Buffer> keys;
  for (int64_t c = 0; c < length; ++c) {
    keys.push_back(fragment(i32, {rows, lists}, format("key_{}", c)));
  }
  parallel({rows, lists}, [&](Expr i, Expr l) {
    for (size_t c = 0; c < keys.size(); ++c) {
      keys[c](i, l) = all(i, l * length + static_cast<int64_t>(c));
    }
    sort(keys, {}, i, l);
  });
  if (lists_that_stay) {
    const auto stays = lists_that_stay(keys[0], keys[1]);
    parallel({rows, lists}, [&](Expr i, Expr l) {
      const Expr stay = let(stays(i, l));
      for (size_t c = 0; c < keys.size(); ++c) {
        const Expr keep = c == 0 ? stay || keys[c](i, l) == kNoKey : stay;
        keys[c](i, l) = select(keep, keys[c](i, l), kOrderedMinusInfinity);
      }
    });
  }

  const auto depth = static_cast<size_t>(std::min(length, count));
  const Buffer best = fragment(i32, {rows, 1}, "best"), list = fragment(i32, {rows, 1}, "list");
  const Buffer found = fragment(i32, {rows, lists}, "found");
  const Buffer key_found = fragment(i32, {rows, lists}, "key_found");
  clear(found);
  clear(key_found);
  in_rounds(count, [&](const Expr& number) {
    reduce_max(keys[0], best, 1);
    const Buffer candidates = fragment(i32, {rows, lists}, "candidates");
    parallel({rows, lists}, [&](Expr i, Expr l) {
      candidates(i, l) = select(keys[0](i, l) == best(i, 0), cast(l, i32), INT_MAX);
    });
    reduce_min(candidates, list, 1);
    parallel({rows, lists}, [&](Expr i, Expr r) {
      const Expr is_this = cast(r, i32) == cast(number, i32);
      found(i, r) = select(is_this, list(i, 0), found(i, r));
      key_found(i, r) = select(is_this, best(i, 0), key_found(i, r));
    });
    parallel({rows, lists}, [&](Expr i, Expr l) {
      const Expr taken = let(cast(l, i32) == list(i, 0));
      for (size_t c = 0; c + 1 < depth; ++c) {
        keys[c](i, l) = select(taken, keys[c + 1](i, l), keys[c](i, l));
      }
      if (length < count) keys.back()(i, l) = select(taken, INT_MIN, keys.back()(i, l));
    });
  });

  const Buffer list_of = shared(i32, {rows, lists}, "list_of");
  const Buffer key_of = shared(i32, {rows, lists}, "key_of");
  copy(found, list_of);
  copy(key_found, key_of);
  const Buffer columns = fragment(i32, {rows, width}, "columns");
  parallel({rows, width}, [&](Expr i, Expr r) {
    const Expr of = let(list_of(i, r)), key = let(key_of(i, r));
    const Expr first = let(of * static_cast<int32_t>(length));
    Expr equal = uint32_t{0};  // a bit for each such element of the list
    for (int64_t c = 0; c < length; ++c) {
      equal = equal | cast(all(i, first + c) == key, u32) << static_cast<uint32_t>(c);
    }
    Variable left = var(u32, equal);
    if_(popcount(left) > uint32_t{1}, [&] {  // the results before have taken some
      serial(r, [&](Expr before) {
        if_(key_of(i, before) == key && list_of(i, before) == of,
            [&] { left = left & (left - uint32_t{1}); });
      });
    });
    Expr place = left;  // perhaps none behind the results: 32 comes out, a column as well
    if (lists_that_stay) place = place | uint32_t{1} << (length - 1);  // or is -inf now: any
    columns(i, r) = first + cast(ctz(place), i32);
  });
  return {columns, key_of};
}

}  // namespace

Expr ordered(const Expr& x) { return select(x == 0.0F, 0, ordered_without_zeros(x)); }

Expr ordered_by(const Expr& key) { return bitcast(key ^ ((key >> 31) & ~INT_MIN), f32); }

Expr ordered_without_zeros(const Expr& x) {
  const int bits = x.dtype().bits();
  const int32_t lowest = bits == 32 ? INT_MIN : -(1 << 15), magnitude = ~lowest;
  const Expr raw = cast(bitcast(x, bits == 32 ? i32 : i16), i32);
  return raw ^ ((raw >> 31) & magnitude);
}

int64_t lists_of(int64_t h) { return std::min(h, 32 * lang::cdiv(h, 256)); }

int64_t Search::lists() const { return std::max(lists_of(h), count); }

bool Search::is_staged() const { return staged && !in_word && h > lists() && h <= 8192; }

Found find_best(const Search& search, int64_t width, const KeysOf& keys_of,
                const ListsOf& lists_of) {
  if (search.is_staged()) return find_staged(search, width, keys_of, lists_of);
  TW_CHECK(!lists_of, "lists of a search that isn't staged");
  const auto [rows, h, count, in_word, staged, with_keys] = search;
  const int64_t lists = search.lists(), length = lang::cdiv(h, lists);
  const auto depth = static_cast<size_t>(std::min(length, count));
  std::vector<Buffer> keys, columns;
  for (int64_t c = 0; c < length; ++c) {
    keys.push_back(fragment(i32, {rows, lists}, format("key_{}", c)));
    if (!in_word) columns.push_back(fragment(i32, {rows, lists}, format("column_{}", c)));
  }
  parallel({rows, lists}, [&](Expr i, Expr l) {
    std::vector<Expr> places;
    for (int64_t c = 0; c < length; ++c) places.push_back(l + c * lists);
    const std::vector<Expr> all = keys_of(i, places);
    for (size_t c = 0; c < keys.size(); ++c) {
      keys[c](i, l) = select(places[c] < h, all[c], INT_MIN);
      if (!in_word) columns[c](i, l) = cast(places[c], i32);
    }
  });
  if (length > 1) parallel({rows, lists}, [&](Expr i, Expr l) { sort(keys, columns, i, l); });
  const Buffer best = fragment(i32, {rows, 1}, "best"), place = fragment(i32, {rows, 1}, "place");
  const Buffer found = fragment(i32, {rows, width}, "found");
  clear(found);
  Buffer key_found;
  if (with_keys) clear(key_found = fragment(i32, {rows, width}, "key_found"));
  const auto round = [&](Expr number) {
    reduce_max(keys[0], best, 1);
    if (in_word) {
      parallel({rows, 1}, [&](Expr i, Expr j) {
        place(i, j) = static_cast<int32_t>(h) - (best(i, j) & 0xFFFF);
      });
    } else {
      const Buffer candidates = fragment(i32, {rows, lists}, "candidates");
      parallel({rows, lists}, [&](Expr i, Expr l) {
        candidates(i, l) = select(keys[0](i, l) == best(i, 0), columns[0](i, l), INT_MAX);
      });
      reduce_min(candidates, place, 1);
    }
    parallel({rows, width},
             [&](Expr i, Expr r) { found(i, r) = select(r == number, place(i, 0), found(i, r)); });
    if (with_keys) {
      parallel({rows, width}, [&](Expr i, Expr r) {
        key_found(i, r) = select(r == number, best(i, 0), key_found(i, r));
      });
    }
    parallel({rows, lists}, [&](Expr i, Expr l) {
      const Expr taken =
          let(in_word ? keys[0](i, l) == best(i, 0) : columns[0](i, l) == place(i, 0));
      for (size_t c = 0; c + 1 < depth; ++c) {
        keys[c](i, l) = select(taken, keys[c + 1](i, l), keys[c](i, l));
        if (!in_word) columns[c](i, l) = select(taken, columns[c + 1](i, l), columns[c](i, l));
      }
      if (length < count) {  // only then a list is empty before the last round
        keys.back()(i, l) = select(taken, INT_MIN, keys.back()(i, l));
      }
    });
  };
  in_rounds(count, round);
  return {found, key_found};
}

int64_t width_of(int64_t count) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count)));
}

int64_t rows_of_block(int64_t lists) {
  return lists > 128 ? 1 : std::clamp<int64_t>(128 / lists, 4, 32);
}

}  // namespace tw::kernels
