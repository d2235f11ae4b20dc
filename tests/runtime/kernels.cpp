#include "tests/runtime/kernels.h"

namespace tw::runtime::test {

const void* FunctionModule::entry(const std::string& name) {
  const auto it = entries_.find(name);
  TW_REQUIRE(it != entries_.end(), "no entry '{}'", name);
  return reinterpret_cast<const void*>(it->second);
}

KernelMetadata gemm_metadata() {
  const HostExpr m = HostExpr::symbol(0), n = HostExpr::symbol(1), k = HostExpr::symbol(2);
  KernelMetadata metadata;
  metadata.name = "gemm";
  metadata.target = "cpu";
  metadata.symbols = {{"m"}, {"n"}, {"k"}};
  metadata.params = {tensor("A", {m, k}), tensor("B", {n, k}), tensor("C", {m, n})};
  metadata.params[2].kind = ParamKind::output;
  metadata.launches = {{"main", {{1, "gemm_main", {m}, 64}}, {}}};
  pack_all(metadata);
  return metadata;
}

int32_t gemm_entry(const void* args, const int64_t*, int64_t first, int64_t last, void*,
                   TwCpuCallbacks*) {
  struct Packed {
    const float *a, *b;
    float* c;
    int64_t m, n, k;
  };
  const auto& p = *static_cast<const Packed*>(args);
  for (int64_t i = first; i < last; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < p.k; ++l) sum += p.a[i * p.k + l] * p.b[j * p.k + l];
      p.c[i * p.n + j] = sum;
    }
  }
  return 0;
}

KernelMetadata idle_metadata(std::vector<Symbol> symbols, std::vector<Param> params) {
  KernelMetadata metadata;
  metadata.name = "f";
  metadata.target = "cpu";
  metadata.symbols = std::move(symbols);
  metadata.params = std::move(params);
  metadata.launches = {{"main", {{1, "idle", {1}, 0}}, {}}};
  pack_all(metadata);
  return metadata;
}

LoadedKernel idle_kernel(std::vector<Symbol> symbols, std::vector<Param> params) {
  TwCpuEntry* idle = [](const void*, const int64_t*, int64_t, int64_t, void*, TwCpuCallbacks*) {
    return int32_t{0};
  };
  return {idle_metadata(std::move(symbols), std::move(params)),
          std::make_shared<FunctionModule>(std::map<std::string, TwCpuEntry*>{{"idle", idle}})};
}

Param tensor(std::string name, std::vector<HostExpr> shape) {
  Param param;
  param.name = std::move(name);
  param.dtype = f32;
  param.shape = std::move(shape);
  return param;
}

}  // namespace tw::runtime::test
