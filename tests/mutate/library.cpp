#include "tests/mutate/library.h"

#include <filesystem>
#include <regex>
#include <utility>

#include "tests/mutate/cases.h"
#include "tests/support/golden.h"

namespace tw::test {

std::vector<LibraryCase> library_cases() {
  Cases cases;
  for (const auto add : {add_elementwise, add_norms, add_folds, add_rows, add_quant, add_products,
                         add_attention, add_rotary, add_random, add_gates, add_layouts}) {
    add(cases);
  }
  return std::move(cases.all_);
}

std::set<std::string> declared_functions() {
  std::set<std::string> names;
  const std::regex declaration(R"(\nvoid (\w+)\(const Tensor& )");
  for (const auto& file : std::filesystem::directory_iterator(source_path("tilewright/kernels"))) {
    if (file.path().extension() != ".h") continue;
    const std::string text = read_file(file.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

}  // namespace tw::test
