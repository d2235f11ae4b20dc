// What a backend reports of its work: texts and times.
#include "tilewright/backend/backend.h"
#include "tilewright/ir/text.h"

namespace tw::backend {

void CompileReport::add_program(const std::string& name, const ir::Program& program) {
  if (keep_texts) texts.push_back({name, ir::print(program)});
  if (dump != nullptr) dump->add(name, program);
}

void CompileReport::add_text(const std::string& name, const std::string& extension,
                             std::string text) {
  if (dump != nullptr) dump->add_file(name + extension, text);
  if (keep_texts) texts.push_back({name, std::move(text)});
}

std::string to_text(const std::vector<CompileReport::Step>& steps) {
  std::string text;
  double total = 0;
  for (const auto& [name, ms] : steps) {
    text += format("{:<24} {:>9.3f} ms\n", name, ms);
    total += ms;
  }
  return text + format("{:<24} {:>9.3f} ms\n", "total", total);
}

}  // namespace tw::backend
