// The best elements of rows, by integers that order them: what kernels that select share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tilewright/lang/lang.h"

namespace tw::kernels {

/// An integer that orders as the number x does, in the low bits of an i32 as many as x has; both
/// zeros are 0. x: f32 or bf16, f16.
Expr ordered(const Expr& x);
/// The same of x that isn't -0.
Expr ordered_without_zeros(const Expr& x);
/// The f32 of which a key is that.
Expr ordered_by(const Expr& key);
/// That of the f32 -inf.
constexpr int32_t kOrderedMinusInfinity = INT32_MIN + 0x7FFFFF;
/// What no f32 but a NaN has, above all that they have: of elements that must not be there, found
/// first.
constexpr int32_t kNoKey = INT32_MAX;

/// Columns of a row of h are dealt out to so many lists of at most 8: element c of list l is column
/// c * lists + l, or l * length + c of lists that are staged. In rows of more than 32 each lane of
/// a warp has a list.
int64_t lists_of(int64_t h);

/// What is sought: the `count` largest of each of `rows` rows of `h` keys.
struct Search {
  int64_t rows, h, count;
  /// Of keys that are all different: h - (key & 0xFFFF) is the column. Else the lowest column of
  /// equal keys comes first.
  bool in_word = false;
  /// For GPUs, changes no result: keys are made where their columns lie side by side, and handed on
  /// to lists through shared memory.
  bool staged = false;
  /// The keys of results are asked for; a staged search has them anyway. Of `in_word` the words.
  bool with_keys = false;

  /// lists_of(h), or one for each result.
  int64_t lists() const;
  /// Whether it is staged: what is asked for, where there is something to sort, and room.
  bool is_staged() const;
};

/// What is found, i32. Behind the results are any columns of the row.
struct Found {
  Buffer columns;  // [rows, width]: of the r-th best at r
  /// [rows, width] or more, where the search has them: the key of the r-th best at r, none that is
  /// kNoKey behind the results.
  Buffer keys;
};

/// The keys of a row of the block in these columns, i32 above INT_MIN. Columns may be h or more:
/// such keys are not looked at. A staged search asks for one column at a time.
using KeysOf = std::function<std::vector<Expr>(const Expr& row, const std::vector<Expr>& columns)>;

/// Given the best and the second of the keys of each list of a staged search, i32 [rows, lists],
/// which lists stay. Keys of others become kOrderedMinusInfinity, but for kNoKey, and a result that
/// is one of these has any column of its list.
using ListsOf = std::function<std::function<Expr(const Expr& row, const Expr& list)>(
    const Buffer& best, const Buffer& second)>;

/// Writes down the search. `width` is at least the count.
Found find_best(const Search& search, int64_t width, const KeysOf& keys, const ListsOf& lists = {});

/// Places of so many results, a power of two: few, so that a warp goes on with those of several
/// rows of a staged search.
int64_t width_of(int64_t count);

/// For GPUs: a warp has a row, or several short ones, so that no fold leaves it; of long ones a
/// block has one.
int64_t rows_of_block(int64_t lists);

}  // namespace tw::kernels
