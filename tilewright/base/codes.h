// The catalogue of diagnostic codes: stable names that tests and users can rely on;
// texts may change. E- is an error, W- a warning. The number behind each is the section
// of the language's specification.
#pragma once

#include "tilewright/base/error.h"

// clang-format off: one row a line
// TW_CODE(identifier, code, section, condition); `needs` names what no built target has, for a code
// that can't be raised until then. docs/errors.md fails without a test for any other.
#define TW_CODES(TW_CODE)                                                                          \
  TW_CODE(prog_01, "E-PROG-01", "2.1", "objects of different programs mixed")                      \
  TW_CODE(prog_02, "E-PROG-02", "2.1", "device value used outside its launch")                     \
  TW_CODE(prog_03, "E-PROG-03", "2.1", "device construct outside a launch")                        \
  TW_CODE(prog_04, "E-PROG-04", "2.1", "nested launch")                                            \
  TW_CODE(prog_05, "E-PROG-05", "2.1", "program without launch")                                   \
  TW_CODE(prog_06, "E-PROG-06", "2.4", "symbol can't be determined from the arguments")            \
  TW_CODE(prog_07, "E-PROG-07", "2.3", "store to an input parameter")                              \
  TW_CODE(type_01, "E-TYPE-01", "15.1", "unknown or unsupported dtype")                            \
  TW_CODE(type_02, "E-TYPE-02", "2.2", "mixed types that need an explicit cast")                   \
  TW_CODE(type_03, "E-TYPE-03", "2.2", "literal or safe value not representable")                  \
  TW_CODE(type_04, "E-TYPE-04", "2.2", "constant division by zero")                                \
  TW_CODE(type_05, "E-TYPE-05", "11.1", "reinterpretation with unequal widths")                    \
  TW_CODE(type_06, "E-TYPE-06", "11.1", "operator not available on the dtype")                     \
  TW_CODE(type_07, "E-TYPE-07", "11.2", "rounding mode or dtype without that function")            \
  TW_CODE(type_08, "E-TYPE-08", "15.3", "sub-byte buffer with odd innermost extent")               \
  TW_CODE(type_09, "E-TYPE-09", "15.3", "single sub-byte element store can't be made safe") /* needs memory without atomic bytes */ \
  TW_CODE(cast_01, "E-CAST-01", "11.4", "rounding mode not supported for the pair")                \
  TW_CODE(cast_02, "E-CAST-02", "11.4", "saturation mode not supported for the pair")              \
  TW_CODE(cast_03, "E-CAST-03", "11.4", "stochastic cast without random word, or word without it") \
  TW_CODE(vec_01, "E-VEC-01", "11.5", "misaligned explicit vector access")                         \
  TW_CODE(tile_01, "E-TILE-01", "10.1", "shapes of tile values don't broadcast")                   \
  TW_CODE(mem_01, "E-MEM-01", "3.1", "non-constant or non-positive shape of a block buffer")       \
  TW_CODE(mem_02, "E-MEM-02", "3.1", "shared memory limit exceeded")                               \
  TW_CODE(mem_03, "E-MEM-03", "3.1", "static shared memory above 48 KiB")                          \
  TW_CODE(mem_04, "E-MEM-04", "3.3", "tensor memory columns exceeded") /* needs tensor memory */   \
  TW_CODE(mem_05, "E-MEM-05", "3.3", "use of tensor memory after release") /* needs tensor memory */ \
  TW_CODE(mem_06, "E-MEM-06", "3.3", "operation not allowed on tensor memory") /* needs tensor memory */ \
  TW_CODE(mem_07, "E-MEM-07", "2.1", "buffer used after its scope")                                \
  TW_CODE(mem_08, "E-MEM-08", "3.3", "one-CTA and two-CTA tensor memory mixed") /* needs tensor memory */ \
  TW_CODE(launch_01, "E-LAUNCH-01", "4.1",                                                         \
          "thread index or extent asked before threads are fixed")                                 \
  TW_CODE(launch_02, "E-LAUNCH-02", "4.1", "thread count out of range")                            \
  TW_CODE(launch_03, "E-LAUNCH-03", "4.1", "grid rank above 3")                                    \
  TW_CODE(launch_04, "E-LAUNCH-04", "4.1", "y or z grid extent above 65 535")                      \
  TW_CODE(launch_05, "E-LAUNCH-05", "4.1", "negative extent")                                      \
  TW_CODE(loop_01, "E-LOOP-01", "5.2", "full and partial unrolling both requested")                \
  TW_CODE(loop_02, "E-LOOP-02", "5.2", "full unrolling of a run-time extent")                      \
  TW_CODE(loop_03, "E-LOOP-03", "5.3", "strict vector loop can't be vectorised")                   \
  TW_CODE(loop_04, "E-LOOP-04", "5.4", "tile op in a parallel loop")                               \
  TW_CODE(loop_05, "E-LOOP-05", "5.4", "pipelined loop in a parallel loop")                        \
  TW_CODE(loop_06, "E-LOOP-06", "5.4", "break out of a parallel loop")                             \
  TW_CODE(loop_07, "E-LOOP-07", "5.4", "parallel loops nested but not perfectly")                  \
  TW_CODE(flow_01, "E-FLOW-01", "5.7", "endless loop without exit")                                \
  TW_CODE(flow_02, "E-FLOW-02", "5.1", "break, continue or return outside its construct")          \
  TW_CODE(flow_03, "E-FLOW-03", "5.1", "loop step zero")                                           \
  TW_CODE(flow_04, "E-FLOW-04", "5.1", "condition of a wrong type")                                \
  TW_CODE(flow_05, "E-FLOW-05", "5.7", "tile op or barrier under a thread-dependent condition")    \
  TW_CODE(reg_01, "E-REG-01", "6.1", "run-time extent where a constant is needed")                 \
  TW_CODE(reg_02, "E-REG-02", "6.1", "too many indices")                                           \
  TW_CODE(view_01, "E-VIEW-01", "6.3", "reshape with another element count")                       \
  TW_CODE(view_02, "E-VIEW-02", "6.3", "view with another bit count")                              \
  TW_CODE(view_03, "E-VIEW-03", "6.3", "view strides outside the base")                            \
  TW_CODE(view_04, "E-VIEW-04", "6.3", "permuted view of a fragment")                              \
  TW_CODE(copy_01, "E-COPY-01", "7.1", "extents don't match")                                      \
  TW_CODE(copy_02, "E-COPY-02", "7.1", "source and destination overlap")                           \
  TW_CODE(copy_03, "E-COPY-03", "7.1", "no conversion between the dtypes")                         \
  TW_CODE(copy_04, "E-COPY-04", "7.1", "no path between the scopes on this target") /* needs tensor memory */ \
  TW_CODE(copy_05, "E-COPY-05", "7.6", "asynchronous load without barrier")                        \
  TW_CODE(copy_06, "E-COPY-06", "7.6", "bulk copy demanded but illegal (with the rule)")          \
  TW_CODE(copy_07, "E-COPY-07", "7.6", "descriptor copy from a device-computed address")          \
  TW_CODE(copy_08, "E-COPY-08", "7.3", "required instruction family not possible")                 \
  TW_CODE(copy_09, "E-COPY-09", "7.3", "contradictory hints")                                      \
  TW_CODE(copy_10, "E-COPY-10", "7.8", "multicast mask and remote block both given") /* needs clusters */ \
  TW_CODE(copy_11, "E-COPY-11", "7.8", "cluster copy without a cluster") /* needs clusters */      \
  TW_CODE(copy_12, "E-COPY-12", "7.2", "packed sub-byte copy with odd base or extent")             \
  TW_CODE(copy_13, "E-COPY-13", "7.11", "fragment doesn't match any tensor-memory access shape") /* needs tensor memory */ \
  TW_CODE(copy_14, "E-COPY-14", "7.11", "shared to tensor memory other than scale factors") /* needs tensor memory */ \
  TW_CODE(gemm_01, "E-GEMM-01", "8.1", "operand rank or non-constant size")                        \
  TW_CODE(gemm_02, "E-GEMM-02", "8.1", "sizes don't match or K not a multiple of the step")        \
  TW_CODE(gemm_03, "E-GEMM-03", "8.1", "dtype combination not available")                          \
  TW_CODE(gemm_04, "E-GEMM-04", "6.2", "accumulator is not a full region")                         \
  TW_CODE(gemm_05, "E-GEMM-05", "8.3", "demanded instruction not possible")                        \
  TW_CODE(gemm_06, "E-GEMM-06", "8.4", "no legal warp partition") /* needs threads */              \
  TW_CODE(gemm_07, "E-GEMM-07", "8.5", "two-CTA form not possible") /* needs clusters */           \
  TW_CODE(gemm_08, "E-GEMM-08", "8.6", "block scaling not available")                              \
  TW_CODE(gemm_09, "E-GEMM-09", "6.2", "shared operand base not aligned to the swizzle atom") /* needs swizzled layouts */ \
  TW_CODE(gemm_10, "E-GEMM-10", "8.7", "sparse form not available") /* needs sparse multiplies */  \
  TW_CODE(red_01, "E-RED-01", "9.1", "reduction on global memory")                                 \
  TW_CODE(red_02, "E-RED-02", "9.1", "dimension out of range")                                     \
  TW_CODE(red_03, "E-RED-03", "9.1", "result shape mismatch")                                      \
  TW_CODE(red_04, "E-RED-04", "9.1", "batch does not divide")                                      \
  TW_CODE(red_05, "E-RED-05", "9.1", "kind not defined for the dtype")                             \
  TW_CODE(red_06, "E-RED-06", "9.1", "result aliases the source")                                  \
  TW_CODE(red_07, "E-RED-07", "9.2", "scan not defined for the dtype")                             \
  TW_CODE(rdc_01, "E-RDC-01", "9.4", "reducer read, copied or aliased within an epoch")            \
  TW_CODE(rdc_02, "E-RDC-02", "9.4", "update outside an epoch")                                    \
  TW_CODE(rdc_03, "E-RDC-03", "9.4", "finalize without init")                                      \
  TW_CODE(rdc_04, "E-RDC-04", "9.4", "paths disagree about the epoch")                             \
  TW_CODE(warp_01, "E-WARP-01", "12.1", "illegal shuffle width")                                   \
  TW_CODE(warp_02, "E-WARP-02", "12.1", "type without exchange")                                   \
  TW_CODE(sync_01, "E-SYNC-01", "12.2", "block barrier under divergence or in a parallel loop")    \
  TW_CODE(sync_02, "E-SYNC-02", "4.3", "block barrier in a narrowed thread scope") /* needs thread scopes */ \
  TW_CODE(sync_03, "E-SYNC-03", "12.4", "arrival count below 1")                                   \
  TW_CODE(sync_04, "E-SYNC-04", "12.2", "out of named barriers")                                   \
  TW_CODE(sync_05, "E-SYNC-05", "12.4", "more arrivals than the count")                            \
  TW_CODE(sync_06, "E-SYNC-06", "12.6", "illegal register count")                                  \
  TW_CODE(atom_01, "E-ATOM-01", "13", "atomic not available for the dtype")                        \
  TW_CODE(atom_02, "E-ATOM-02", "13", "previous value requested of a tile or vector form")         \
  TW_CODE(atom_03, "E-ATOM-03", "13", "memory order illegal for the operation")                    \
  TW_CODE(atom_04, "E-ATOM-04", "13", "float atomic in deterministic mode")                        \
  TW_CODE(lay_01, "E-LAY-01", "17.6", "contradictory fragment layouts") /* needs threads */        \
  TW_CODE(lay_02, "E-LAY-02", "17.6", "contradictory shared layouts") /* needs swizzled layouts */ \
  TW_CODE(lay_03, "E-LAY-03", "9.1", "reduction result layout fixed elsewhere") /* needs threads */ \
  TW_CODE(lay_04, "E-LAY-04", "17.2", "layout can't be inferred") /* needs threads */              \
  TW_CODE(lay_05, "E-LAY-05", "5.2", "distributed fragment addressed by serial index or constant") \
  TW_CODE(lay_06, "E-LAY-06", "5.4", "symbolic parallel extent indexes a fragment")                \
  TW_CODE(lay_07, "E-LAY-07", "6.3", "alias group can't share a layout") /* needs swizzled layouts */ \
  TW_CODE(lay_08, "E-LAY-08", "4.3", "fragment used by other threads than its owners' scope") /* needs threads */ \
  TW_CODE(lay_09, "E-LAY-09", "12.7", "escaped buffer with a non-trivial layout") /* needs threads */ \
  TW_CODE(lay_10, "E-LAY-10", "17.6", "annotated layout malformed")                                \
  TW_CODE(lay_11, "E-LAY-11", "17.6", "annotated fragment needs more threads")                     \
  TW_CODE(pipe_01, "E-PIPE-01", "18.4", "order is not a permutation")                              \
  TW_CODE(pipe_02, "E-PIPE-02", "18.4", "stage/order lists incomplete")                            \
  TW_CODE(pipe_03, "E-PIPE-03", "18.3", "two writers of one staged region")                        \
  TW_CODE(pipe_04, "E-PIPE-04", "18.4", "plan violates a dependence")                              \
  TW_CODE(pipe_05, "E-PIPE-05", "18.4", "fewer versions annotated than needed")                    \
  TW_CODE(pipe_06, "E-PIPE-06", "18.4", "while loop can't be pipelined") /* needs a plan of while loops */ \
  TW_CODE(pipe_07, "E-PIPE-07", "18.4", "break or continue at the top level of a pipelined body")  \
  TW_CODE(pipe_08, "E-PIPE-08", "18.5", "barrier can't be versioned") /* needs asynchronous copies */ \
  TW_CODE(pipe_09, "E-PIPE-09", "18.5", "manual commit/wait in an automatic pipeline") /* needs asynchronous copies */ \
  TW_CODE(pipe_10, "E-PIPE-10", "19.1", "forced warp specialisation impossible") /* needs warp specialization */ \
  TW_CODE(ws_01, "E-WS-01", "19.2", "bad role partition") /* needs warp specialization */          \
  TW_CODE(ws_02, "E-WS-02", "19.2", "unbalanced acquire/commit or wait/release") /* needs warp specialization */ \
  TW_CODE(ws_03, "E-WS-03", "19.2", "trip counts of roles differ") /* needs warp specialization */ \
  TW_CODE(ws_04, "E-WS-04", "19.2", "channel graph can deadlock") /* needs warp specialization */  \
  TW_CODE(ws_05, "E-WS-05", "19.2", "channel buffer used outside its section") /* needs warp specialization */ \
  TW_CODE(ws_06, "E-WS-06", "19.4", "illegal register split") /* needs warp specialization */      \
  TW_CODE(bnd_01, "E-BND-01", "20.2", "provable out-of-bounds access of a block buffer")           \
  TW_CODE(tgt_01, "E-TGT-01", "4.1", "launch option unknown to the target")                        \
  TW_CODE(tgt_02, "E-TGT-02", "4.4", "thread-level construct on a target without threads")         \
  TW_CODE(tgt_03, "E-TGT-03", "21.1", "operation without lowering on the target") /* needs an accelerator */ \
  TW_CODE(tgt_04, "E-TGT-04", "22.1", "no such device to run on")                                  \
  TW_CODE(opt_01, "E-OPT-01", "14.3", "unknown option or bad value")                               \
  TW_CODE(sched_01, "E-SCHED-01", "14.4", "schedule names what the dataflow doesn't have")         \
  TW_CODE(tool_01, "E-TOOL-01", "22.4", "external tool missing")                                   \
  TW_CODE(tune_01, "E-TUNE-01", "23", "configuration name not used") /* needs the tuner */         \
  TW_CODE(tune_02, "E-TUNE-02", "23", "empty space") /* needs the tuner */                         \
  TW_CODE(tune_03, "E-TUNE-03", "23", "every configuration failed") /* needs the tuner */          \
  TW_CODE(host_01, "E-HOST-01", "26", "argument count or kind")                                    \
  TW_CODE(host_02, "E-HOST-02", "26", "rank")                                                      \
  TW_CODE(host_03, "E-HOST-03", "26", "dtype")                                                     \
  TW_CODE(host_04, "E-HOST-04", "26", "device type or id")                                         \
  TW_CODE(host_05, "E-HOST-05", "26",                                                              \
          "shape constant, inconsistent or non-integral symbol, promised fact of a size")          \
  TW_CODE(host_06, "E-HOST-06", "26", "strides")                                                   \
  TW_CODE(host_07, "E-HOST-07", "7.6", "bulk-copy rule violated by the run-time tensor")          \
  TW_CODE(host_08, "E-HOST-08", "26", "pointer alignment")                                         \
  TW_CODE(host_09, "E-HOST-09", "26", "null pointer")                                              \
  TW_CODE(host_10, "E-HOST-10", "4.2", "grid limit or cluster multiple")                           \
  TW_CODE(host_11, "E-HOST-11", "12.3", "cooperative launch not resident")                         \
  TW_CODE(host_12, "E-HOST-12", "3.2", "workspace or output allocation failed")                    \
  TW_CODE(host_13, "E-HOST-13", "20.5", "element count exceeds the compiled index width")          \
  TW_CODE(host_14, "E-HOST-14", "25.2", "value for a size is missing")                             \
  TW_CODE(host_15, "E-HOST-15", "2.3", "what is written shares memory with another argument")      \
  TW_CODE(w_hint_01, "W-HINT-01", "1", "hint ignored (verbose only)")                              \
  TW_CODE(w_init_01, "W-INIT-01", "3.4", "read before any write")                                  \
  TW_CODE(w_mem_01, "W-MEM-01", "3.1", "likely register spill") /* needs threads */                \
  TW_CODE(w_mem_02, "W-MEM-02", "3.1", "local array with run-time index (verbose)") /* needs threads */ \
  TW_CODE(w_mem_03, "W-MEM-03", "3.3", "tensor memory limits occupancy") /* needs tensor memory */ \
  TW_CODE(w_loop_01, "W-LOOP-01", "5.4", "vector width hint reduced")                              \
  TW_CODE(w_race_01, "W-RACE-01", "5.4", "iterations of a parallel loop conflict")                 \
  TW_CODE(w_race_02, "W-RACE-02", "7.1", "all threads write the same place from private data") /* needs threads */ \
  TW_CODE(w_rdc_01, "W-RDC-01", "9.4", "epoch never finalised")                                    \
  TW_CODE(w_sync_01, "W-SYNC-01", "4.2", "remote shared access after the last cluster sync")          \
  TW_CODE(w_sync_02, "W-SYNC-02", "12.6", "register budget exceeded")                              \
  TW_CODE(w_sync_03, "W-SYNC-03", "2.6", "use of asynchronous data before its wait") /* needs asynchronous copies */ \
  TW_CODE(w_type_01, "W-TYPE-01", "11.1", "constant shift count out of range")                     \
  TW_CODE(w_pipe_01, "W-PIPE-01", "18.4", "stage lowered because versions would be too large") /* needs staged buffers */ \
  TW_CODE(w_pipe_02, "W-PIPE-02", "18.5", "conservative wait") /* needs asynchronous copies */     \
  TW_CODE(w_ws_01, "W-WS-01", "19.1", "not specialised (reason)") /* needs warp specialization */  \
  TW_CODE(w_ws_02, "W-WS-02", "19.4", "register reallocation ignored by the assembler") /* needs warp specialization */ \
  TW_CODE(w_bnd_01, "W-BND-01", "20.2", "possible out-of-bounds access of a block buffer (verbose)")
// clang-format on

namespace tw::codes {

#define TW_DECLARE(identifier, code, section, condition) inline constexpr Code identifier{code};
TW_CODES(TW_DECLARE)
#undef TW_DECLARE

}  // namespace tw::codes
