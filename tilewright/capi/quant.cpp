#include "tilewright/capi/quant.h"

#include "tilewright/capi/border.h"
#include "tilewright/kernels/quant.h"

using namespace tw;
using capi::args_or_default;
using capi::guarded;
using capi::or_default;
using capi::Reader;

namespace {

kernels::TokenCastArgs read_args(Reader& read, const tw_token_cast_args* given) {
  const tw_token_cast_args c = args_or_default(given);
  kernels::TokenCastArgs args;
  args.group = or_default(c.group, args.group);
  args.round_sf = c.round_sf;
  args.least = c.least;
  args.x_sf = read.optional("x_sf", c.x_sf);
  args.x_rows = or_default(c.x_rows, args.x_rows);
  args.x_columns = or_default(c.x_columns, args.x_columns);
  args.stochastic = c.stochastic;
  return args;
}

kernels::BlockCastArgs read_args(const tw_block_cast_args* given) {
  const tw_block_cast_args c = args_or_default(given);
  kernels::BlockCastArgs args;
  args.rows = or_default(c.rows, args.rows);
  args.columns = or_default(c.columns, args.columns);
  args.round_sf = c.round_sf;
  args.least = c.least;
  return args;
}

kernels::ChannelCastArgs read_args(Reader& read, const tw_channel_cast_args* given) {
  const tw_channel_cast_args c = args_or_default(given);
  kernels::ChannelCastArgs args;
  args.group = or_default(c.group, args.group);
  args.round_sf = c.round_sf;
  args.least = c.least;
  args.x_sf = read.optional("x_sf", c.x_sf);
  args.x_columns = or_default(c.x_columns, args.x_columns);
  args.index = read.optional("index", c.index);
  return args;
}

kernels::LosslessCastArgs read_args(const tw_lossless_cast_args* given) {
  const tw_lossless_cast_args c = args_or_default(given);
  kernels::LosslessCastArgs args;
  args.x_rows = or_default(c.x_rows, args.x_rows);
  args.x_columns = or_default(c.x_columns, args.x_columns);
  args.rows = or_default(c.rows, args.rows);
  args.columns = or_default(c.columns, args.columns);
  return args;
}

kernels::CastBackArgs read_args(const tw_cast_back_args* given) {
  const tw_cast_back_args c = args_or_default(given);
  kernels::CastBackArgs args;
  args.rows = or_default(c.rows, args.rows);
  args.columns = or_default(c.columns, args.columns);
  return args;
}

kernels::FakeCastArgs read_args(const tw_fake_cast_args* given) {
  const tw_fake_cast_args c = args_or_default(given);
  kernels::FakeCastArgs args;
  args.group = or_default(c.group, args.group);
  args.round_sf = c.round_sf;
  args.e4m3_sf = c.e4m3_sf;
  args.least = c.least;
  return args;
}

}  // namespace

tw_status tw_least_amax(tw_dtype format, tw_dtype sf, float* least) {
  return guarded("least_amax", [&](Reader& read) {
    read.required("least", least);
    *least = kernels::least_amax(read.dtype("format", format), read.dtype("sf", sf));
  });
}

tw_status tw_per_token_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                            const tw_token_cast_args* args, tw_stream stream) {
  return guarded("per_token_cast", [&](Reader& read) {
    kernels::per_token_cast(read("x", x), read("q", q), read("sf", sf), read_args(read, args),
                            Stream{stream});
  });
}

tw_status tw_per_token_cast_with_sf_only(const tw_tensor* x, tw_dtype format, const tw_tensor* sf,
                                         const tw_token_cast_args* args, tw_stream stream) {
  return guarded("per_token_cast_with_sf_only", [&](Reader& read) {
    kernels::per_token_cast_with_sf_only(read("x", x), read.dtype("format", format), read("sf", sf),
                                         read_args(read, args), Stream{stream});
  });
}

tw_status tw_per_token_cast_with_precomputed_sf(const tw_tensor* x, const tw_tensor* sf,
                                                const tw_tensor* q, const tw_token_cast_args* args,
                                                tw_stream stream) {
  return guarded("per_token_cast_with_precomputed_sf", [&](Reader& read) {
    kernels::per_token_cast_with_precomputed_sf(read("x", x), read("sf", sf), read("q", q),
                                                read_args(read, args), Stream{stream});
  });
}

tw_status tw_per_block_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                            const tw_block_cast_args* args, tw_stream stream) {
  return guarded("per_block_cast", [&](Reader& read) {
    kernels::per_block_cast(read("x", x), read("q", q), read("sf", sf), read_args(args),
                            Stream{stream});
  });
}

tw_status tw_per_block_cast_with_sf_only(const tw_tensor* x, tw_dtype format, const tw_tensor* sf,
                                         const tw_block_cast_args* args, tw_stream stream) {
  return guarded("per_block_cast_with_sf_only", [&](Reader& read) {
    kernels::per_block_cast_with_sf_only(read("x", x), read.dtype("format", format), read("sf", sf),
                                         read_args(args), Stream{stream});
  });
}

tw_status tw_per_block_cast_with_precomputed_sf(const tw_tensor* x, const tw_tensor* sf,
                                                const tw_tensor* q, const tw_block_cast_args* args,
                                                tw_stream stream) {
  return guarded("per_block_cast_with_precomputed_sf", [&](Reader& read) {
    kernels::per_block_cast_with_precomputed_sf(read("x", x), read("sf", sf), read("q", q),
                                                read_args(args), Stream{stream});
  });
}

tw_status tw_per_channel_cast(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                              const tw_channel_cast_args* args, tw_stream stream) {
  return guarded("per_channel_cast", [&](Reader& read) {
    kernels::per_channel_cast(read("x", x), read("q", q), read("sf", sf), read_args(read, args),
                              Stream{stream});
  });
}

tw_status tw_per_channel_cast_and_transpose(const tw_tensor* x, const tw_tensor* q,
                                            const tw_tensor* sf, const tw_channel_cast_args* args,
                                            tw_stream stream) {
  return guarded("per_channel_cast_and_transpose", [&](Reader& read) {
    kernels::per_channel_cast_and_transpose(read("x", x), read("q", q), read("sf", sf),
                                            read_args(read, args), Stream{stream});
  });
}

tw_status tw_per_block_cast_lossless(const tw_tensor* x, const tw_tensor* x_sf, const tw_tensor* q,
                                     const tw_tensor* sf, const tw_lossless_cast_args* args,
                                     tw_stream stream) {
  return guarded("per_block_cast_lossless", [&](Reader& read) {
    kernels::per_block_cast_lossless(read("x", x), read("x_sf", x_sf), read("q", q), read("sf", sf),
                                     read_args(args), Stream{stream});
  });
}

tw_status tw_transpose_weight_sf(const tw_tensor* sf, const tw_tensor* sf0, const tw_tensor* sf1,
                                 int64_t block, tw_stream stream) {
  return guarded("transpose_weight_sf", [&](Reader& read) {
    kernels::transpose_weight_sf(read("sf", sf), read("sf0", sf0), read("sf1", sf1), block,
                                 Stream{stream});
  });
}

tw_status tw_cast_back(const tw_tensor* q, const tw_tensor* sf, const tw_tensor* y,
                       const tw_cast_back_args* args, tw_stream stream) {
  return guarded("cast_back", [&](Reader& read) {
    kernels::cast_back(read("q", q), read("sf", sf), read("y", y), read_args(args), Stream{stream});
  });
}

tw_status tw_per_token_cast_to_e5m6(const tw_tensor* x, const tw_tensor* q, const tw_tensor* sf,
                                    bool round_sf, tw_stream stream) {
  return guarded("per_token_cast_to_e5m6", [&](Reader& read) {
    kernels::per_token_cast_to_e5m6(read("x", x), read("q", q), read("sf", sf), round_sf,
                                    Stream{stream});
  });
}

tw_status tw_cast_back_e5m6(const tw_tensor* q, const tw_tensor* sf, const tw_tensor* y,
                            const tw_cast_back_args* args, tw_stream stream) {
  return guarded("cast_back_e5m6", [&](Reader& read) {
    kernels::cast_back_e5m6(read("q", q), read("sf", sf), read("y", y), read_args(args),
                            Stream{stream});
  });
}

tw_status tw_per_token_cast_and_cast_back(const tw_tensor* x, tw_dtype format,
                                          const tw_fake_cast_args* args, tw_stream stream) {
  return guarded("per_token_cast_and_cast_back", [&](Reader& read) {
    kernels::per_token_cast_and_cast_back(read("x", x), read.dtype("format", format),
                                          read_args(args), Stream{stream});
  });
}

tw_status tw_cast(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("cast",
                 [&](Reader& read) { kernels::cast(read("x", x), read("y", y), Stream{stream}); });
}

tw_status tw_stochastic_cast(const tw_tensor* x, const tw_tensor* y, tw_stream stream) {
  return guarded("stochastic_cast", [&](Reader& read) {
    kernels::stochastic_cast(read("x", x), read("y", y), Stream{stream});
  });
}
