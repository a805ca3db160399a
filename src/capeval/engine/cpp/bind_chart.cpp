#include "bindings.hpp"
#include "chart.hpp"

namespace capeval {
namespace {

nb::list bind_parse_captions(const Array& tokens, const Array& offsets, const nb::list& words, const Array& tag_offsets,
                             const Array& tags, const Array& tag_scores, const nb::list& labels, const Array& is_tag,
                             const Array& binary, const Array& binary_scores, const Array& unary,
                             const Array& unary_scores, int root, int end, int64_t max_tokens,
                             int threads) {
    const auto floats = [](const Array& array, const char* name) { return view<float>(array, 1, name, "float32"); };
    const Captions captions{ints(tokens, "tokens"), longs(offsets, "offsets")};
    const WordTags word_tags{longs(tag_offsets, "tag_offsets"), ints(tags, "tags"), floats(tag_scores, "tag_scores"),
                             texts_of(words)};
    const GrammarRules rules{int_rows(binary, "binary"),
                             floats(binary_scores, "binary_scores"),
                             int_rows(unary, "unary"),
                             floats(unary_scores, "unary_scores"),
                             view<uint8_t>(is_tag, 1, "is_tag", "uint8"),
                             texts_of(labels),
                             root,
                             end};
    const auto trees = without_gil([&] { return parse_captions(captions, word_tags, rules, max_tokens, threads); });
    nb::list result;
    for (const std::string& tree : trees) result.append(nb::str(tree.data(), tree.size()));
    return result;
}

}  // namespace

void bind_chart(nb::module_& module) {
    module.def("parse_captions", &bind_parse_captions, "tokens"_a, "offsets"_a, "words"_a, "tag_offsets"_a, "tags"_a,
               "tag_scores"_a, "labels"_a, "is_tag"_a, "binary"_a, "binary_scores"_a, "unary"_a, "unary_scores"_a,
               "root"_a, "end"_a, "max_tokens"_a, "threads"_a);
}

}  // namespace capeval
