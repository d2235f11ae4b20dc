// Fragments: how the elements of a box are spread over threads and over the slots
// (registers) of each.
//
// A fragment is a layout from the box with one more dimension, the replica r, to (thread, slot).
// The owners of an element are the threads that its replicas lie in; they hold equal values. Digits
// that read r alone are what replicates: `i % 8 * 4 + r * 32` puts a copy 32 threads further on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tilewright/layout/layout.h"

namespace tw::layout {

class Fragment {
 public:
  Fragment() = default;
  /// `map`: (x..., r) -> (thread, slot). Threads count from `first_thread`, the first of the scope.
  /// A partial fragment has `addends` > 1: replica r = a + addends * c is the a-th addend, which
  /// are to be combined, of the c-th equal copy.
  explicit Fragment(Layout map, int64_t first_thread = 0, int64_t addends = 1);

  const Layout& map() const { return map_; }
  int64_t first_thread() const { return first_thread_; }
  int64_t addends() const { return addends_; }

  /// The box, without the replica.
  Coords shape() const { return Coords(map_.shape().begin(), map_.shape().end() - 1); }
  int rank() const { return map_.rank() - 1; }
  int64_t replicas() const { return map_.shape().back(); }
  int64_t threads() const { return map_.extents()[0]; }
  /// Registers per thread.
  int64_t slots() const { return map_.extents()[1]; }

  int64_t thread(const Coords& x, int64_t replica = 0) const;
  int64_t slot(const Coords& x, int64_t replica = 0) const;

  friend bool operator==(const Fragment&, const Fragment&) = default;

 private:
  Layout map_;
  int64_t first_thread_ = 0;
  int64_t addends_ = 1;
};

/// The fragment of a map from (thread, slot) to coordinates, as tables of instructions give it.
/// Threads that differ in a digit that the map doesn't read hold the same elements. Empty if the
/// map does not reach every element, or holds one in two slots of a thread.
std::optional<Fragment> fragment_of(const Layout& thread_value_map);

/// The reverse: (thread, slot) -> coordinates, threads counted from the first. Empty as `inverse`.
std::optional<Layout> thread_value_map(const Fragment& fragment);

/// Every one of `threads` threads owns all elements, in row-major slots.
Fragment fully_replicated(const Coords& shape, int64_t threads);

/// `count` copies on new threads: t + threads * j.
Fragment replicate(const Fragment& fragment, int64_t count);

/// `count` tiles along a dimension, on new threads or in new slots. The order of several calls is
/// the order of slots (threads): what is repeated later is slower.
enum class On { threads, slots };
Fragment repeat(const Fragment& fragment, int dim, int64_t count, On where);

/// Normal form of the replica: digits that nothing reads are removed, the others ordered by what
/// they add to the thread. Owners stay the same.
Fragment condense(const Fragment& fragment);

/// Keeps one replica. Not for partial fragments, nor for a replica that is part of an exclusive or.
Fragment dereplicate(const Fragment& fragment, int64_t replica = 0);

/// The same on the threads [first, last) of the block; an Error if these are fewer than it needs.
Fragment bind(const Fragment& fragment, int64_t first, int64_t last);

/// Dimension d of the result is dimension order[d].
Fragment permute(const Fragment& fragment, const std::vector<int>& order);

/// The same registers under another shape and size of element, as for layouts. Empty if a wider
/// element would lie in two threads or in slots that are no neighbors.
std::optional<Fragment> reshape(const Fragment& fragment, const Coords& shape, int old_bits = 1,
                                int new_bits = 1);

/// The owners of an element, ascending.
std::vector<int64_t> owners(const Fragment& fragment, const Coords& x);
bool contains(const Fragment& fragment, const Coords& x, int64_t thread);

/// Whether (thread, slot) determines the element.
bool is_well_formed(const Fragment& fragment);

/// `[16, 8] x 2 -> 64 threads, 4 slots: i % 8 * 4 + j / 2 + r * 32, i / 8 * 2 + j % 2`, where `x`
/// tells the replicas. `x 8 of 4 addends` if partial, `64 threads from 128` if bound; parse.h reads
/// it back.
std::string to_text(const Fragment& fragment);

}  // namespace tw::layout
