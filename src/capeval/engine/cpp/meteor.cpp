#include "meteor.hpp"

#include <array>
#include <cmath>

namespace capeval {
namespace {

class Judge {
public:
    Judge(const Captions& captions, const MeteorWords& words, const MeteorPhrases& phrases, View<double> parameters)
        : captions_(captions), words_(words), phrases_(phrases), parameters_(parameters), aligner_(words, phrases) {}

    // Writes the statistics against the best reference: that of highest score, the first of several.
    void best(int64_t candidate, View<int32_t> references, double* result) {
        std::fill(result, result + meteor_columns, 0.0);
        const AlignedCaption ours = caption(candidate);
        double highest = -1.0;
        std::array<double, meteor_columns> row;
        for (const int32_t reference : references) {
            const AlignedCaption theirs = caption(reference);
            count(ours, theirs, aligner_.align(ours, theirs), row.data());
            const double reached = score(row.data());
            if (reached > highest) {
                highest = reached;
                std::copy(row.begin(), row.end(), result);
            }
        }
    }

private:
    AlignedCaption caption(int64_t c) const {
        const int64_t first = phrases_.offsets[c];
        return {captions_.begin(c),           static_cast<int32_t>(captions_.length(c)),
                phrases_.starts.data + first, phrases_.lengths.data + first,
                phrases_.phrases.data + first, phrases_.offsets[c + 1] - first};
    }

    void count(const AlignedCaption& ours, const AlignedCaption& theirs, const std::vector<Match>& matches, double* row) const {
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
    Aligner aligner_;
};

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
    // A Judge has an entry for each phrase, so blocks are large enough to be worth setting one up.
    for_blocks(rows.count(), 512, threads, [&](int64_t begin, int64_t end) {
        Judge judge(captions, words, phrases, parameters);
        for (int64_t row = begin; row < end; ++row) {
            judge.best(rows.candidate[row], rows.references(row), stats.data() + row * meteor_columns);
        }
    });
    return stats;
}

}  // namespace capeval
