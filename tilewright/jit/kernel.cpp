#include "tilewright/jit/kernel.h"

#include "tilewright/base/error.h"
#include "tilewright/runtime/artifact.h"

namespace tw {

std::vector<OwnedTensor> Kernel::operator()(std::span<const Arg> args,
                                            const runtime::CallContext& context) const {
  TW_REQUIRE(content_ != nullptr, "kernel: an empty handle can't be called; compile or load one");
  return (*content_->loaded)(args, context);
}

void Kernel::launch(Stream stream, std::initializer_list<Arg> args, bool in_place) const {
  runtime::CallContext context;
  context.stream = stream;
  context.in_place = in_place;
  (*this)(args, context);
}

const std::string& Kernel::name() const { return metadata().name; }
const runtime::KernelMetadata& Kernel::metadata() const { return content_->loaded->metadata(); }
const std::vector<backend::CompileReport::Step>& Kernel::steps() const {
  return content_->report.steps;
}
const Diagnostics& Kernel::diagnostics() const { return content_->report.diagnostics; }
const char* Kernel::origin() const { return content_->origin; }

std::string Kernel::explain() const {
  std::string text = runtime::to_text(metadata());
  if (content_->backend == nullptr) return text + "loaded from an artefact\n";
  const size_t bytes = content_->artifact.code.size();
  text += bytes == 0 ? "code: made for each entry when it is first run\n"
                     : format("code: {} bytes, {}\n", bytes, origin());
  for (const auto& step : steps()) text += format("  {:<24} {:8.3f} ms\n", step.name, step.ms);
  if (content_->is_edited) return text + "the source is the author's\n";
  return text + content_->backend->explain(content_->program, metadata().target);
}

Kernel Kernel::replace_source(const std::string& source) const {
  TW_REQUIRE(content_->backend != nullptr,
             "{}: it was loaded from an artefact, which has no source", name());
  const backend::Backend& backend = *content_->backend;
  auto content = std::make_shared<Content>();
  content->artifact = backend.replace_source(content_->artifact, source, content_->program);
  std::shared_ptr<runtime::Module> module = backend.load(content->artifact);
  content->loaded =
      std::make_unique<runtime::LoadedKernel>(content->artifact.metadata, std::move(module));
  content->origin = "compiled";
  content->backend = &backend;
  content->program = content_->program;
  content->is_edited = true;
  return Kernel(std::move(content));
}

std::string Kernel::text(std::string_view name) const {
  if (name == "sass" && content_->backend != nullptr) {
    return content_->backend->disassembly(content_->artifact);
  }
  std::vector<std::string> known;
  for (const backend::Text& text : content_->report.texts) {
    if (text.name == name) return text.text;
    known.push_back(text.name);
  }
  TW_REQUIRE(!known.empty(), "{}: no texts were kept; compile it with keep_texts", this->name());
  throw Error({}, {}, "{}: no text '{}'", this->name(), name)
      .help("there are {}", join(known, ", "));
}

void Kernel::export_object(const std::string& path) const {
  TW_REQUIRE(content_->backend != nullptr,
             "{}: it was loaded from an artefact; copy that file instead", name());
  runtime::write_artifact(path, metadata(), content_->backend->exported_code(content_->artifact));
}

Kernel Kernel::load(const std::string& path) {
  auto content = std::make_shared<Content>();
  runtime::Artifact artifact = runtime::read_artifact(path);
  if (artifact.metadata.device == DeviceKind::cpu) {
    content->loaded = runtime::load_cpu_artifact(path);
  } else {
    const std::string family = to_text(artifact.metadata.device);
    std::shared_ptr<runtime::Module> module = backend::load_backend(family).load(artifact);
    content->loaded =
        std::make_unique<runtime::LoadedKernel>(std::move(artifact.metadata), std::move(module));
  }
  content->origin = "artefact";
  return Kernel(std::move(content));
}

}  // namespace tw
