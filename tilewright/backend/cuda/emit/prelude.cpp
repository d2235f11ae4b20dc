#include "tilewright/backend/cuda/emit/prelude.h"

#include <map>
#include <set>
#include <vector>

#include "tilewright/backend/cuda/emit/prelude_text.h"

namespace tw::cuda {
namespace {

bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_word(char c) { return begins_word(c) || (c >= '0' && c <= '9'); }

/// Calls f on each word of a text, comments left out.
template <class F>
void for_each_word(std::string_view text, F f) {
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
    } else if (in_word(text[i])) {
      const size_t begin = i;
      while (i < text.size() && in_word(text[i])) ++i;
      f(text.substr(begin, i - begin));
    } else {
      ++i;
    }
  }
}

struct Snippet {
  std::string_view name, text;
  std::vector<size_t> uses;
};

class Snippets {
 public:
  Snippets() {
    for (const std::string_view file : kPreludeFiles) split(file);
    for (Snippet& snippet : list_) {
      for_each_word(snippet.text, [&](std::string_view word) {
        const auto found = index_.find(word);
        if (found != index_.end() && list_[found->second].name != snippet.name) {
          snippet.uses.push_back(found->second);
        }
      });
    }
  }
  bool has(std::string_view name) const { return index_.contains(name); }

  std::string used_by(std::string_view text) const {
    Parts parts;
    for_each_word(text, [&](std::string_view word) {
      if (const auto found = index_.find(word); found != index_.end()) add(found->second, parts);
    });
    return parts.types + parts.functions;
  }

 private:
  void split(std::string_view file) {
    constexpr std::string_view kMark = "\n//# ";
    size_t at = file.find(kMark);
    while (at != file.npos) {
      const size_t name = at + kMark.size(), begin = file.find('\n', name) + 1;
      at = file.find(kMark, begin - 1);
      std::string_view text = file.substr(begin, at == file.npos ? at : at + 1 - begin);
      while (text.ends_with("\n\n")) text.remove_suffix(1);
      list_.push_back({file.substr(name, begin - 1 - name), text, {}});
      index_[list_.back().name] = list_.size() - 1;
    }
  }
  struct Parts {
    std::string types, functions;
    std::set<size_t> done;
  };
  void add(size_t i, Parts& parts) const {
    if (!parts.done.insert(i).second) return;
    for (const size_t used : list_[i].uses) add(used, parts);
    const std::string_view text = list_[i].text;
    (text.starts_with("typedef") ? parts.types : parts.functions) += text;
  }

  std::vector<Snippet> list_;
  std::map<std::string_view, size_t> index_;
};

const Snippets& snippets() {
  static const Snippets all;
  return all;
}

}  // namespace

std::string prelude_for(std::string_view text) { return snippets().used_by(text); }

bool is_prelude_name(std::string_view name) { return snippets().has(name); }

}  // namespace tw::cuda
