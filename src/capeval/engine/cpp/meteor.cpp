#include "meteor.hpp"

#include <array>
#include <cmath>

namespace capeval {
namespace {

enum Module : int32_t { exact, stem, synonym, paraphrase };
constexpr size_t beam = 40;

// ---- finding phrases -------------------------------------------------------------------------------------------

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

// ---- alignment -------------------------------------------------------------------------------------------------

struct Match {
    int32_t module;
    int32_t start;  // in the reference
    int32_t length;
    int32_t candidate_start;
    int32_t candidate_length;

    int32_t distance() const { return std::abs(start - candidate_start); }
    int32_t end() const { return start + length; }
    int32_t candidate_end() const { return candidate_start + candidate_length; }

    // METEOR's weights here are 1 and 0.5, and it drops the fraction after each addition, on each side.
    int32_t weight() const { return module == exact ? length + candidate_length : length / 2 + candidate_length / 2; }
};

// A way through the reference up to `place`.
struct Path {
    int32_t matched = 0;
    int32_t chunks = 0;
    int32_t distance = 0;
    int32_t place = 0;
    int32_t chunk_end = -1;  // where in the candidate the open chunk would go on
    int32_t step = -1;       // the last match, in Search::steps_

    void close_chunk() {
        if (chunk_end != -1) ++chunks;
        chunk_end = -1;
    }
};

struct Caption {
    const int32_t* words;
    int32_t length;
    const int32_t* starts;
    const int32_t* lengths;
    const int32_t* phrases;
    int64_t occurrences;
};

// Picks matches that do not overlap. Holds its memory from one pair of captions to the next.
class Search {
public:
    const std::vector<Match>& run(const std::vector<std::vector<Match>>& proposed, const std::vector<char>& is_fixed,
                                  int32_t reference_length, int32_t candidate_length) {
        blocks_ = (static_cast<size_t>(candidate_length) + 63) / 64;
        steps_.clear();
        paths_.assign(1, Path{});
        used_.assign(blocks_, 0);
        for (int32_t place = 0; place < reference_length; ++place) {
            rank_paths();
            following_.clear();
            following_used_.clear();
            for (const Rank& each : order_) advance(each.index, place, proposed, is_fixed);
            paths_.swap(following_);
            used_.swap(following_used_);
        }
        rank_paths();
        following_.clear();
        for (const Rank& each : order_) {
            following_.push_back(paths_[each.index]);
            following_.back().close_chunk();
        }
        paths_.swap(following_);
        rank_paths();
        chosen_.clear();
        for (int32_t step = paths_[order_[0].index].step; step >= 0; step = steps_[step].before) {
            chosen_.push_back(*steps_[step].match);
        }
        std::reverse(chosen_.begin(), chosen_.end());
        return chosen_;
    }

private:
    struct Step {
        const Match* match;
        int32_t before;
    };

    // Ordered by more matched words, fewer chunks, smaller distance, and the order they are in.
    struct Rank {
        uint64_t matched_and_chunks;
        uint32_t distance;
        uint32_t index;

        bool operator<(const Rank& other) const {
            if (matched_and_chunks != other.matched_and_chunks) return matched_and_chunks < other.matched_and_chunks;
            return distance != other.distance ? distance < other.distance : index < other.index;
        }
    };

    // Fills order_ with the best paths.
    void rank_paths() {
        order_.clear();
        for (size_t i = 0; i < paths_.size(); ++i) {
            const Path& path = paths_[i];
            const auto unmatched = static_cast<uint64_t>(INT32_MAX - path.matched);
            order_.push_back({unmatched << 32 | static_cast<uint32_t>(path.chunks),
                              static_cast<uint32_t>(path.distance), static_cast<uint32_t>(i)});
        }
        if (order_.size() > beam) {
            std::nth_element(order_.begin(), order_.begin() + beam, order_.end());
            order_.resize(beam);
        }
        std::sort(order_.begin(), order_.end());
    }

    void advance(size_t index, int32_t place, const std::vector<std::vector<Match>>& proposed,
                 const std::vector<char>& is_fixed) {
        Path path = paths_[index];
        const uint64_t* used = used_.data() + index * blocks_;
        if (is_fixed[place]) {
            const Match& only = proposed[place][0];
            take(path, only);
            path.distance += only.distance();
        } else if (path.place <= place) {
            for (const Match& match : proposed[place]) {
                if (overlaps(used, match)) continue;
                Path child = path;
                take(child, match);
                append(child, used);
                mark(match);
                // The distance goes to the parent, once the child was copied: a child has that of its elder
                // siblings, not its own.
                path.distance += match.distance();
            }
            path.close_chunk();
            ++path.place;
        }
        append(path, used);
    }

    void take(Path& path, const Match& match) {
        path.matched += match.weight();
        if (path.chunk_end != -1 && path.chunk_end != match.candidate_start) ++path.chunks;
        path.chunk_end = match.candidate_end();
        path.place = match.end();
        steps_.push_back({&match, path.step});
        path.step = static_cast<int32_t>(steps_.size()) - 1;
    }

    void append(const Path& path, const uint64_t* used) {
        following_.push_back(path);
        following_used_.insert(following_used_.end(), used, used + blocks_);
    }

    // In the path appended last.
    void mark(const Match& match) {
        uint64_t* used = following_used_.data() + following_used_.size() - blocks_;
        for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) used[i / 64] |= uint64_t{1} << (i % 64);
    }

    static bool overlaps(const uint64_t* used, const Match& match) {
        for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) {
            if (used[i / 64] >> (i % 64) & 1) return true;
        }
        return false;
    }

    size_t blocks_ = 0;
    std::vector<Step> steps_;
    std::vector<Path> paths_, following_;
    std::vector<uint64_t> used_, following_used_;  // the candidate's matched words, blocks_ for each path
    std::vector<Rank> order_;
    std::vector<Match> chosen_;
};

class Aligner {
public:
    Aligner(const Captions& captions, const MeteorWords& words, const MeteorPhrases& phrases, View<double> parameters)
        : captions_(captions), words_(words), phrases_(phrases), parameters_(parameters) {
        words_with_.assign(static_cast<size_t>(words.synsets.size), 0);
        last_occurrence_.assign(static_cast<size_t>(phrases.link_offsets.size - 1), -1);
    }

    // Writes the statistics against the best reference: that of highest score, the first of several.
    void best(int64_t candidate, View<int32_t> references, double* result) {
        std::fill(result, result + meteor_columns, 0.0);
        const Caption ours = caption(candidate);
        our_keys_.clear();
        for (int32_t i = 0; i < ours.length; ++i) our_keys_.push_back(words_.keys[ours.words[i]]);
        double highest = -1.0;
        std::array<double, meteor_columns> row;
        for (const int32_t reference : references) {
            const Caption theirs = caption(reference);
            count(ours, theirs, align(ours, theirs), row.data());
            const double reached = score(row.data());
            if (reached > highest) {
                highest = reached;
                std::copy(row.begin(), row.end(), result);
            }
        }
    }

private:
    Caption caption(int64_t c) const {
        const int64_t first = phrases_.offsets[c];
        return {captions_.begin(c),           static_cast<int32_t>(captions_.length(c)),
                phrases_.starts.data + first, phrases_.lengths.data + first,
                phrases_.phrases.data + first, phrases_.offsets[c + 1] - first};
    }

    const std::vector<Match>& align(const Caption& ours, const Caption& theirs) {
        if (proposed_.size() < static_cast<size_t>(theirs.length)) proposed_.resize(theirs.length);
        for (int32_t j = 0; j < theirs.length; ++j) proposed_[j].clear();
        their_keys_.clear();
        for (int32_t j = 0; j < theirs.length; ++j) their_keys_.push_back(words_.keys[theirs.words[j]]);
        match_words();
        if (our_keys_ != their_keys_) {
            match_stems(ours, theirs);
            match_synonyms(ours, theirs);
            match_paraphrases(theirs, ours, [this](const Match& match) { proposed_[match.start].push_back(match); });
            match_paraphrases(ours, theirs, [this](const Match& match) {
                proposed_[match.candidate_start].push_back(
                    {paraphrase, match.candidate_start, match.candidate_length, match.start, match.length});
            });
        }
        find_only_choices(ours.length, theirs.length);
        return search_.run(proposed_, is_fixed_, theirs.length, ours.length);
    }

    void match_words() {
        for (size_t j = 0; j < their_keys_.size(); ++j) {
            for (size_t i = 0; i < our_keys_.size(); ++i) {
                if (their_keys_[j] == our_keys_[i]) propose(exact, j, i);
            }
        }
    }

    void match_stems(const Caption& ours, const Caption& theirs) {
        our_stems_.clear();
        for (int32_t i = 0; i < ours.length; ++i) our_stems_.push_back(words_.stems[ours.words[i]]);
        for (size_t j = 0; j < their_keys_.size(); ++j) {
            const int32_t their_stem = words_.stems[theirs.words[j]];
            for (size_t i = 0; i < our_keys_.size(); ++i) {
                if (their_stem == our_stems_[i] && their_keys_[j] != our_keys_[i]) propose(stem, j, i);
            }
        }
    }

    void match_synonyms(const Caption& ours, const Caption& theirs) {
        // 64 words of the candidate at a time: words_with_ has, for each synset, which of them belong to it.
        for (int32_t first = 0; first < ours.length; first += 64) {
            const int32_t last = std::min(ours.length, first + 64);
            for (int32_t i = first; i < last; ++i) {
                for (const int32_t synset : synsets(ours.words[i])) words_with_[synset] |= uint64_t{1} << (i - first);
            }
            for (int32_t j = 0; j < theirs.length; ++j) {
                uint64_t found = 0;
                for (const int32_t synset : synsets(theirs.words[j])) found |= words_with_[synset];
                for (int32_t i = first; found != 0; ++i, found >>= 1) {
                    if ((found & 1) != 0 && their_keys_[j] != our_keys_[i]) propose(synonym, j, i);
                }
            }
            for (int32_t i = first; i < last; ++i) {
                for (const int32_t synset : synsets(ours.words[i])) words_with_[synset] = 0;
            }
        }
    }

    View<int32_t> synsets(int32_t word) const {
        const int64_t first = words_.synset_offsets[word];
        return {words_.synsets.data + first, words_.synset_offsets[word + 1] - first};
    }

    // Gives each pair of a phrase in `sources` and a paraphrase of it in `targets`, as if `sources` were the reference.
    template <class Give>
    void match_paraphrases(const Caption& sources, const Caption& targets, const Give& give) {
        // The last occurrence of each phrase in `targets`, and before each the one before.
        before_.resize(static_cast<size_t>(targets.occurrences));
        for (int64_t t = 0; t < targets.occurrences; ++t) {
            before_[t] = last_occurrence_[targets.phrases[t]];
            last_occurrence_[targets.phrases[t]] = static_cast<int32_t>(t);
        }
        for (int64_t s = 0; s < sources.occurrences; ++s) {
            const int32_t phrase = sources.phrases[s];
            for (int64_t k = phrases_.link_offsets[phrase]; k < phrases_.link_offsets[phrase + 1]; ++k) {
                const int32_t last = last_occurrence_[phrases_.links[k]];
                if (last < 0) continue;
                places_.clear();
                for (int32_t t = last; t >= 0; t = before_[t]) places_.push_back(t);
                for (auto t = places_.rbegin(); t != places_.rend(); ++t) {
                    give({paraphrase, sources.starts[s], sources.lengths[s], targets.starts[*t], targets.lengths[*t]});
                }
            }
        }
        for (int64_t t = 0; t < targets.occurrences; ++t) last_occurrence_[targets.phrases[t]] = -1;
    }

    void propose(Module module, size_t j, size_t i) {
        proposed_[j].push_back({module, static_cast<int32_t>(j), 1, static_cast<int32_t>(i), 1});
    }

    // Marks the reference positions where one match begins none of whose words is in another match.
    void find_only_choices(int32_t candidate_length, int32_t reference_length) {
        ours_covered_.assign(static_cast<size_t>(candidate_length), 0);
        theirs_covered_.assign(static_cast<size_t>(reference_length), 0);
        for (int32_t place = 0; place < reference_length; ++place) {
            for (const Match& match : proposed_[place]) {
                for (int32_t j = match.start; j < match.end(); ++j) ++theirs_covered_[j];
                for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) ++ours_covered_[i];
            }
        }
        is_fixed_.assign(static_cast<size_t>(reference_length), 0);
        for (int32_t place = 0; place < reference_length; ++place) {
            if (proposed_[place].size() != 1) continue;
            const Match& match = proposed_[place][0];
            bool alone = true;
            for (int32_t j = match.start; j < match.end(); ++j) alone = alone && theirs_covered_[j] == 1;
            for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) {
                alone = alone && ours_covered_[i] == 1;
            }
            is_fixed_[place] = alone;
        }
    }

    void count(const Caption& ours, const Caption& theirs, const std::vector<Match>& matches, double* row) const {
        std::fill(row, row + meteor_columns, 0.0);
        row[0] = ours.length;
        row[1] = theirs.length;
        for (int32_t i = 0; i < ours.length; ++i) row[2] += words_.is_function[ours.words[i]];
        for (int32_t j = 0; j < theirs.length; ++j) row[3] += words_.is_function[theirs.words[j]];
        const Match* before = nullptr;
        for (const Match& match : matches) {
            double* columns = row + 4 + 4 * match.module;
            for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) {
                ++columns[2 * words_.is_function[ours.words[i]]];
            }
            for (int32_t j = match.start; j < match.end(); ++j) {
                ++columns[1 + 2 * words_.is_function[theirs.words[j]]];
            }
            const bool goes_on = before != nullptr && before->end() == match.start &&
                                 before->candidate_end() == match.candidate_start;
            if (!goes_on) ++row[20];
            before = &match;
        }
    }

    double score(const double* row) const {
        const double alpha = parameters_[0], beta = parameters_[1], gamma = parameters_[2], delta = parameters_[3];
        double weighted[2] = {0.0, 0.0}, matched[2] = {0.0, 0.0};
        for (int side = 0; side < 2; ++side) {
            for (int m = 0; m < 4; ++m) weighted[side] += row[4 + 4 * m + side] * parameters_[4 + m] * delta;
            for (int m = 0; m < 4; ++m) weighted[side] += row[6 + 4 * m + side] * parameters_[4 + m] * (1.0 - delta);
            for (int m = 0; m < 4; ++m) matched[side] += row[4 + 4 * m + side] + row[6 + 4 * m + side];
        }
        const double precision = weighted[0] / (delta * (row[0] - row[2]) + (1.0 - delta) * row[2]);
        const double recall = weighted[1] / (delta * (row[1] - row[3]) + (1.0 - delta) * row[3]);
        const double mean = 1.0 / ((1.0 - alpha) / precision + alpha / recall);
        const bool is_perfect = matched[0] == row[0] && matched[1] == row[1] && row[20] == 1.0;
        const double fragmentation = is_perfect ? 0.0 : row[20] / ((matched[0] + matched[1]) / 2.0);
        const double result = mean * (1.0 - gamma * std::pow(fragmentation, beta));
        return std::isnan(result) ? 0.0 : std::max(result, 0.0);
    }

    const Captions& captions_;
    const MeteorWords& words_;
    const MeteorPhrases& phrases_;
    View<double> parameters_;
    Search search_;
    std::vector<std::vector<Match>> proposed_;
    std::vector<char> is_fixed_;
    std::vector<int32_t> our_keys_, their_keys_, our_stems_;
    std::vector<uint64_t> words_with_;
    std::vector<int32_t> ours_covered_, theirs_covered_;
    std::vector<int32_t> last_occurrence_, before_, places_;
};

// ---- checks ----------------------------------------------------------------------------------------------------

void check(const MeteorWords& words, const Captions& captions) {
    check_offsets(words.synset_offsets, words.synsets.size,
                  "synset_offsets must rise from 0 to the number of synsets");
    require(words.keys.size == words.stems.size && words.keys.size == words.is_function.size &&
                words.keys.size == words.synset_offsets.size - 1,
            "keys, stems, is_function and synset_offsets must be of the same words");
    check_range(captions.tokens, words.keys.size, "tokens must be below the number of words");
    for (const uint8_t flag : words.is_function) require(flag <= 1, "is_function must be 0 or 1");
    check_range(words.synsets, words.synsets.size, "synsets must be numbered from 0");
}

void check(const MeteorPhrases& phrases, const Captions& captions) {
    require(phrases.starts.size == phrases.lengths.size && phrases.starts.size == phrases.phrases.size,
            "starts, lengths and phrases differ in length");
    check_offsets(phrases.offsets, phrases.phrases.size, "phrase_offsets must rise from 0 to the number of phrases");
    check_offsets(phrases.link_offsets, phrases.links.size, "link_offsets must rise from 0 to the number of links");
    require(phrases.offsets.size == captions.offsets.size,
            "phrase_offsets must have one entry per caption, and one more");
    check_range(phrases.phrases, phrases.link_offsets.size - 1, "phrases must be indices of phrases");
    check_range(phrases.links, phrases.link_offsets.size - 1, "links must be indices of phrases");
    for (int64_t c = 0; c < captions.count(); ++c) {
        for (int64_t k = phrases.offsets[c]; k < phrases.offsets[c + 1]; ++k) {
            const int64_t start = phrases.starts[k], length = phrases.lengths[k];
            require(start >= 0 && length >= 1 && start + length <= captions.length(c),
                    "phrases must lie within their captions");
        }
    }
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

Buffer<double> meteor_stats(const Captions& captions, const MeteorWords& words, const MeteorPhrases& phrases,
                            View<double> parameters, const Rows& rows, int threads) {
    check_threads(threads);
    check(captions);
    check(words, captions);
    check(phrases, captions);
    require(parameters.size == 8,
            "parameters must be alpha, beta, gamma, delta and the weights of the four modules");
    check(rows, captions.count());

    Buffer<double> stats(rows.count() * meteor_columns);
    // An Aligner has an entry for each phrase, so blocks are large enough to be worth setting one up.
    for_blocks(rows.count(), 512, threads, [&](int64_t begin, int64_t end) {
        Aligner aligner(captions, words, phrases, parameters);
        for (int64_t row = begin; row < end; ++row) {
            aligner.best(rows.candidate[row], rows.references(row), stats.data() + row * meteor_columns);
        }
    });
    return stats;
}

}  // namespace capeval
