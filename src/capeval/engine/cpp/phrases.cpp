#include "phrases.hpp"

namespace capeval {
namespace {

struct Occurrence {
    int32_t start;
    int32_t length;
    int32_t phrase;
};

void check(const PhraseTable& table) {
    // Only the sizes: the table is large, so what it says is checked where it is used.
    require(table.child_start.size == table.nodes() + 1 && table.pair_start.size == table.nodes() + 1,
            "child_start and pair_start must have one entry more than last_word");
}

// The node one word longer, or -1.
int32_t child_of(const PhraseTable& table, int32_t node, int32_t word) {
    const int64_t first = table.child_start[node], last = table.child_start[node + 1];
    if (word < 0 || first < 0 || first >= last || last > table.nodes()) return -1;
    const int32_t* end = table.last_word.data + last;
    const int32_t* place = std::lower_bound(table.last_word.data + first, end, word);
    return place != end && *place == word ? static_cast<int32_t>(place - table.last_word.data) : -1;
}

void find_in_caption(const Captions& captions, int64_t caption, View<int32_t> table_words, const PhraseTable& table,
                     std::vector<Occurrence>& found) {
    const int32_t* tokens = captions.begin(caption);
    const auto length = static_cast<int32_t>(captions.length(caption));
    for (int32_t start = 0; start < length; ++start) {
        int32_t node = table_words[tokens[start]];
        for (int32_t end = start + 1; node >= 0 && node < table.nodes(); ++end) {
            found.push_back({start, end - start, node});
            node = end < length ? child_of(table, node, table_words[tokens[end]]) : -1;
        }
    }
}

template <class T>
Buffer<T> to_buffer(const std::vector<T>& values) {
    Buffer<T> buffer(static_cast<int64_t>(values.size()));
    std::copy(values.begin(), values.end(), buffer.data());
    return buffer;
}

}  // namespace

FoundPhrases find_phrases(const Captions& captions, View<int32_t> table_words, const PhraseTable& table, int threads) {
    check_threads(threads);
    check(captions);
    check(table);
    check_range(captions.tokens, table_words.size, "tokens must be below the length of table_words");

    constexpr int64_t block = 256;
    const int64_t count = captions.count();
    std::vector<std::vector<Occurrence>> found(static_cast<size_t>((count + block - 1) / block));
    FoundPhrases result;
    result.offsets.resize(count + 1);
    for_blocks(count, block, threads, [&](int64_t begin, int64_t end) {
        auto& occurrences = found[static_cast<size_t>(begin / block)];
        for (int64_t c = begin; c < end; ++c) {
            const size_t before = occurrences.size();
            find_in_caption(captions, c, table_words, table, occurrences);
            result.offsets[c] = static_cast<int64_t>(occurrences.size() - before);
        }
    });

    // Numbers in order of first occurrence.
    std::vector<int32_t> number(static_cast<size_t>(table.nodes()), -1);
    std::vector<int32_t> nodes;
    for (auto& occurrences : found) {
        for (Occurrence& each : occurrences) {
            int32_t& given = number[static_cast<size_t>(each.phrase)];
            if (given < 0) {
                given = static_cast<int32_t>(nodes.size());
                nodes.push_back(each.phrase);
            }
            each.phrase = given;
        }
    }

    std::vector<int32_t> links;
    std::vector<int64_t> link_offsets{0};
    std::vector<char> is_linked(nodes.size(), 0);
    for (size_t p = 0; p < nodes.size(); ++p) {
        const int64_t first = table.pair_start[nodes[p]], last = table.pair_start[nodes[p] + 1];
        require(first >= 0 && first <= last && last <= table.paraphrases.size, "the paraphrase table is damaged");
        for (int64_t k = first; k < last; ++k) {
            const int32_t node = table.paraphrases[k];
            if (node < 0 || node >= table.nodes() || number[static_cast<size_t>(node)] < 0) continue;
            const int32_t target = number[static_cast<size_t>(node)];
            links.push_back(target);
            is_linked[p] = is_linked[static_cast<size_t>(target)] = 1;
        }
        link_offsets.push_back(static_cast<int64_t>(links.size()));
    }

    std::vector<int32_t> starts, lengths, phrases;
    int64_t caption = 0, kept = 0;
    for (const auto& occurrences : found) {
        const int64_t end = std::min(count, caption + block);
        for (size_t next = 0; caption < end; ++caption) {
            const size_t last = next + static_cast<size_t>(result.offsets[caption]);
            result.offsets[caption] = kept;
            for (; next < last; ++next) {
                const Occurrence& each = occurrences[next];
                if (!is_linked[static_cast<size_t>(each.phrase)]) continue;
                starts.push_back(each.start);
                lengths.push_back(each.length);
                phrases.push_back(each.phrase);
                ++kept;
            }
        }
    }
    result.offsets[count] = kept;
    result.starts = to_buffer(starts);
    result.lengths = to_buffer(lengths);
    result.phrases = to_buffer(phrases);
    result.links = to_buffer(links);
    result.link_offsets = to_buffer(link_offsets);
    return result;
}

}  // namespace capeval
