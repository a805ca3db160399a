#include "alignment.hpp"

namespace capeval {
namespace {

constexpr size_t beam = 40;

bool overlaps(const uint64_t* used, const Match& match) {
    for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) {
        if (used[i / 64] >> (i % 64) & 1) return true;
    }
    return false;
}

}  // namespace

const std::vector<Match>& AlignmentSearch::run(const std::vector<std::vector<Match>>& proposed,
                                               const std::vector<char>& is_fixed, int32_t reference_length,
                                               int32_t candidate_length) {
    blocks_ = (static_cast<size_t>(candidate_length) + 63) / 64;
    steps_.clear();
    paths_.assign(1, AlignmentPath{});
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

// Fills order_ with the best paths.
void AlignmentSearch::rank_paths() {
    order_.clear();
    for (size_t i = 0; i < paths_.size(); ++i) {
        const AlignmentPath& path = paths_[i];
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

void AlignmentSearch::advance(size_t index, int32_t place, const std::vector<std::vector<Match>>& proposed,
                              const std::vector<char>& is_fixed) {
    AlignmentPath path = paths_[index];
    const uint64_t* used = used_.data() + index * blocks_;
    if (is_fixed[place]) {
        const Match& only = proposed[place][0];
        take(path, only);
        path.distance += only.distance();
    } else if (path.place <= place) {
        for (const Match& match : proposed[place]) {
            if (overlaps(used, match)) continue;
            AlignmentPath child = path;
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

void AlignmentSearch::take(AlignmentPath& path, const Match& match) {
    path.matched += match.weight();
    if (path.chunk_end != -1 && path.chunk_end != match.candidate_start) ++path.chunks;
    path.chunk_end = match.candidate_end();
    path.place = match.end();
    steps_.push_back({&match, path.step});
    path.step = static_cast<int32_t>(steps_.size()) - 1;
}

void AlignmentSearch::append(const AlignmentPath& path, const uint64_t* used) {
    following_.push_back(path);
    following_used_.insert(following_used_.end(), used, used + blocks_);
}

// In the path appended last.
void AlignmentSearch::mark(const Match& match) {
    uint64_t* used = following_used_.data() + following_used_.size() - blocks_;
    for (int32_t i = match.candidate_start; i < match.candidate_end(); ++i) used[i / 64] |= uint64_t{1} << (i % 64);
}

Aligner::Aligner(const MeteorWords& words, const MeteorPhrases& phrases) : words_(words), phrases_(phrases) {
    words_with_.assign(static_cast<size_t>(words.synsets.size), 0);
    last_occurrence_.assign(static_cast<size_t>(phrases.link_offsets.size - 1), -1);
}

// Gives each pair of a phrase in `sources` and a paraphrase of it in `targets`, as if `sources` were the reference.
template <class Give>
void Aligner::match_paraphrases(const AlignedCaption& sources, const AlignedCaption& targets, const Give& give) {
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

const std::vector<Match>& Aligner::align(const AlignedCaption& ours, const AlignedCaption& theirs) {
    if (proposed_.size() < static_cast<size_t>(theirs.length)) proposed_.resize(theirs.length);
    for (int32_t j = 0; j < theirs.length; ++j) proposed_[j].clear();
    our_keys_.clear();
    for (int32_t i = 0; i < ours.length; ++i) our_keys_.push_back(words_.keys[ours.words[i]]);
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

void Aligner::match_words() {
    for (size_t j = 0; j < their_keys_.size(); ++j) {
        for (size_t i = 0; i < our_keys_.size(); ++i) {
            if (their_keys_[j] == our_keys_[i]) propose(exact, j, i);
        }
    }
}

void Aligner::match_stems(const AlignedCaption& ours, const AlignedCaption& theirs) {
    our_stems_.clear();
    for (int32_t i = 0; i < ours.length; ++i) our_stems_.push_back(words_.stems[ours.words[i]]);
    for (size_t j = 0; j < their_keys_.size(); ++j) {
        const int32_t their_stem = words_.stems[theirs.words[j]];
        for (size_t i = 0; i < our_keys_.size(); ++i) {
            if (their_stem == our_stems_[i] && their_keys_[j] != our_keys_[i]) propose(stem, j, i);
        }
    }
}

void Aligner::match_synonyms(const AlignedCaption& ours, const AlignedCaption& theirs) {
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

View<int32_t> Aligner::synsets(int32_t word) const {
    const int64_t first = words_.synset_offsets[word];
    return {words_.synsets.data + first, words_.synset_offsets[word + 1] - first};
}

void Aligner::propose(MatchModule module, size_t j, size_t i) {
    proposed_[j].push_back({module, static_cast<int32_t>(j), 1, static_cast<int32_t>(i), 1});
}

// Marks the reference positions where one match begins none of whose words is in another match.
void Aligner::find_only_choices(int32_t candidate_length, int32_t reference_length) {
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

}  // namespace capeval
