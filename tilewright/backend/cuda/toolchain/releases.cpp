// Releases of NVIDIA's compiler with something wrong in them that touches our kernels.
#include "tilewright/backend/cuda/toolchain/toolchain.h"

namespace tw::cuda {
namespace {

struct Release {
  const char* release;
  const char* fault;
};

constexpr Release kReleases[] = {
    {"13.0.88", "its assembler is suspected of miscompiling some code for sm_90a"},
};

}  // namespace

std::string known_fault(const std::string& release) {
  for (const Release& known : kReleases) {
    if (release == known.release) return known.fault;
  }
  return {};
}

}  // namespace tw::cuda
