// y[i, :] = table[index[i], :].
// Memory bound: each row that is asked for is read once and written once.
#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/row_schedule.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

// Rows outside the table load as zero, rows past the end of y are not stored.
void dataflow(Builder& k, DType dtype, DType index_type) {
  const Expr n = k.dim("n"), v = k.dim("v"), table_row = k.dim("table_row"), y_row = k.dim("y_row");
  const int64_t h = k.constant("h");
  const int64_t rows = k.tunable("rows", 4);
  const Buffer table = k.input("table", dtype, {v, h}, {.strides = {table_row, 1}});
  const Buffer index = k.input("index", index_type, {n});
  const Buffer y = k.output("y", dtype, {n, h}, {.strides = {y_row, 1}});
  k.launch({cdiv(n, rows)}, [&](Expr block) {
    const auto here = at(block * rows, rows);
    copy_rows(table(all, all), index(here), y(here, all));
  });
}

const Jit& kernel() {
  static const Jit jit(
      define_kernel("gather_rows", dataflow)
          .schedule(targets::cpu, [](Schedule& s, const Case&) { s.set("rows", 1); })
          .schedule("cuda", [](Schedule& s, const Case& c) {
            hold_rows(s, c);
            four_vectors_a_thread(s, c);
          }));
  return jit;
}

}  // namespace

void gather_rows(const Tensor& table, const Tensor& index, const Tensor& y, Stream stream) {
  check_rank("gather_rows", {"table", table}, 2);
  check_rank("gather_rows", {"index", index}, 1);
  check_dtype("gather_rows", {"index", index}, {i32, i64});
  check_dtype("gather_rows", {"y", y}, {table.dtype()});
  check_shape("gather_rows", {"y", y}, {index.dim(0), table.dim(1)}, "[n, h]");
  check_apart("gather_rows", {"y", y}, {{"table", table}, {"index", index}});
  const Tensor from = as_bits("gather_rows", {"table", table}),
               to = as_bits("gather_rows", {"y", y});
  kernel()({from.dtype(), index.dtype()}, {{"h", table.dim(1)}}, y.device().kind)
      .launch(stream, {from, index, to});
}

}  // namespace tw::kernels
