#include "tilewright/capi/rand.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/rand.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::or_default;
using capi::Reader;

tw_status tw_randn(const tw_tensor* y, const tw_randn_args* args, tw_stream stream) {
  return guarded("randn", [&](Reader& read) {
    const tw_randn_args c = args_or_default(args);
    kernels::RandnArgs to;
    to.seed = c.seed;
    to.offset = c.offset;
    to.most_groups = or_default(c.most_groups, to.most_groups);
    kernels::randn(read("y", y), to, Stream{stream});
  });
}

tw_status tw_randn_words(int64_t numel, int64_t most_groups, uint64_t* words) {
  return guarded("randn_words", [&](Reader& read) {
    read.required("words", words);
    *words = kernels::randn_words(numel, or_default(most_groups, kernels::RandnArgs().most_groups));
  });
}

tw_status tw_standard_normal(const tw_tensor* y, const tw_normal_args* args, tw_stream stream) {
  return guarded("standard_normal", [&](Reader& read) {
    const tw_normal_args c = args_or_default(args);
    kernels::standard_normal(read("y", y), {.seed = c.seed, .subsequence = c.subsequence},
                             Stream{stream});
  });
}
