// METEOR's alignment of a candidate with a reference (the twin of capeval/engine/alignment.py).
#pragma once

#include "common.hpp"

namespace capeval {

enum MatchModule : int32_t { exact, stem, synonym, paraphrase };

// What is known of each distinct word.
struct MeteorWords {
    View<int32_t> keys;
    View<int32_t> stems;
    View<uint8_t> is_function;
    View<int32_t> synsets;
    View<int64_t> synset_offsets;
};

// Phrases of the paraphrase table in each caption, and the paraphrases of each phrase.
struct MeteorPhrases {
    View<int32_t> starts;
    View<int32_t> lengths;
    View<int32_t> phrases;
    View<int64_t> offsets;
    View<int32_t> links;
    View<int64_t> link_offsets;
};

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

// A caption's words, and where phrases of the table are in it.
struct AlignedCaption {
    const int32_t* words;
    int32_t length;
    const int32_t* starts;
    const int32_t* lengths;
    const int32_t* phrases;
    int64_t occurrences;
};

// A way through the reference up to `place`.
struct AlignmentPath {
    int32_t matched = 0;
    int32_t chunks = 0;
    int32_t distance = 0;
    int32_t place = 0;
    int32_t chunk_end = -1;  // where in the candidate the open chunk would go on
    int32_t step = -1;       // the last match, in AlignmentSearch::steps_

    void close_chunk() {
        if (chunk_end != -1) ++chunks;
        chunk_end = -1;
    }
};

// Picks matches that do not overlap. Holds its memory from one pair of captions to the next.
class AlignmentSearch {
public:
    const std::vector<Match>& run(const std::vector<std::vector<Match>>& proposed, const std::vector<char>& is_fixed,
                                  int32_t reference_length, int32_t candidate_length);

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

    void rank_paths();
    void advance(size_t index, int32_t place, const std::vector<std::vector<Match>>& proposed,
                 const std::vector<char>& is_fixed);
    void take(AlignmentPath& path, const Match& match);
    void append(const AlignmentPath& path, const uint64_t* used);
    void mark(const Match& match);

    size_t blocks_ = 0;
    std::vector<Step> steps_;
    std::vector<AlignmentPath> paths_, following_;
    std::vector<uint64_t> used_, following_used_;  // the candidate's matched words, blocks_ for each path
    std::vector<Rank> order_;
    std::vector<Match> chosen_;
};

// Aligns pairs of captions. Holds its memory from one pair to the next.
class Aligner {
public:
    Aligner(const MeteorWords& words, const MeteorPhrases& phrases);

    // The chosen matches in the order of the reference.
    const std::vector<Match>& align(const AlignedCaption& ours, const AlignedCaption& theirs);

private:
    void match_words();
    void match_stems(const AlignedCaption& ours, const AlignedCaption& theirs);
    void match_synonyms(const AlignedCaption& ours, const AlignedCaption& theirs);
    View<int32_t> synsets(int32_t word) const;
    template <class Give>
    void match_paraphrases(const AlignedCaption& sources, const AlignedCaption& targets, const Give& give);
    void propose(MatchModule module, size_t j, size_t i);
    void find_only_choices(int32_t candidate_length, int32_t reference_length);

    const MeteorWords& words_;
    const MeteorPhrases& phrases_;
    AlignmentSearch search_;
    std::vector<std::vector<Match>> proposed_;
    std::vector<char> is_fixed_;
    std::vector<int32_t> our_keys_, their_keys_, our_stems_;
    std::vector<uint64_t> words_with_;
    std::vector<int32_t> ours_covered_, theirs_covered_;
    std::vector<int32_t> last_occurrence_, before_, places_;
};

}  // namespace capeval
