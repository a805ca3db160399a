#include "heads.hpp"

#include <limits>

namespace capeval {
namespace {

// The best head of each word; whether that makes a tree with one word under the root and no arcs that cross.
bool greedy(const ArcScores& scores, int32_t* heads, int64_t step) {
    const int64_t size = scores.size;
    int64_t roots = 0;
    std::vector<int64_t> above(static_cast<size_t>(size + 1), 0);
    for (int64_t word = 0; word < size; ++word) {
        int64_t best = -1;
        for (int64_t head = 0; head <= size; ++head) {
            if (head != word + 1 && (best < 0 || scores.at(word, head) > scores.at(word, best))) best = head;
        }
        heads[word * step] = static_cast<int32_t>(best);
        above[static_cast<size_t>(word + 1)] = best;
        roots += best == 0;
    }
    if (roots != 1) return false;
    for (int64_t word = 1; word <= size; ++word) {
        int64_t node = word;
        for (int64_t steps = 0; node != 0; ++steps) {
            if (steps > size) return false;
            node = above[static_cast<size_t>(node)];
        }
    }
    for (int64_t word = 1; word <= size; ++word) {
        const auto [left, right] = std::minmax(word, above[static_cast<size_t>(word)]);
        for (int64_t other = left + 1; other < right; ++other) {
            // All words below an arc must have their heads there too.
            const int64_t head = above[static_cast<size_t>(other)];
            if (head < left || head > right) return false;
        }
    }
    return true;
}

// The best tree without crossing arcs and with one word under the root (Eisner 1996). Node 0 is the root.
class Projective {
public:
    explicit Projective(const ArcScores& scores) : scores_(scores), nodes_(scores.size + 1) {
        const auto cells = static_cast<size_t>(nodes_ * nodes_ * 4);
        best_.assign(cells, 0.0F);
        split_.assign(cells, 0);
    }

    void solve(int32_t* heads, int64_t step) {
        // Among the words alone; the root is put on top in the end.
        for (int64_t width = 1; width < nodes_ - 1; ++width) {
            for (int64_t left = 1; left + width < nodes_; ++left) fill(left, left + width);
        }
        int64_t top = 1;
        float most = -std::numeric_limits<float>::infinity();
        for (int64_t word = 1; word < nodes_; ++word) {
            const float below = best(closed_left, 1, word) + best(closed_right, word, nodes_ - 1);
            const float score = below + scores_.at(word - 1, 0);
            if (score > most) {
                most = score;
                top = word;
            }
        }
        heads[(top - 1) * step] = 0;
        trace(closed_left, 1, top, heads, step);
        trace(closed_right, top, nodes_ - 1, heads, step);
    }

private:
    // A span is open when an arc joins its ends, closed when its head has all its words on that side. `left`: the head
    // is the right end.
    enum Kind { open_left, open_right, closed_left, closed_right };

    size_t cell(Kind kind, int64_t left, int64_t right) const {
        return static_cast<size_t>((static_cast<int64_t>(kind) * nodes_ + left) * nodes_ + right);
    }
    float best(Kind kind, int64_t left, int64_t right) const { return best_[cell(kind, left, right)]; }

    void keep(Kind kind, int64_t left, int64_t right, int64_t at, float score, bool first) {
        const size_t place = cell(kind, left, right);
        if (first || score > best_[place]) {
            best_[place] = score;
            split_[place] = at;
        }
    }

    void fill(int64_t left, int64_t right) {
        for (int64_t at = left; at < right; ++at) {
            const float inside = best(closed_right, left, at) + best(closed_left, at + 1, right);
            keep(open_left, left, right, at, inside + scores_.at(left - 1, right), at == left);
            keep(open_right, left, right, at, inside + scores_.at(right - 1, left), at == left);
        }
        for (int64_t at = left; at < right; ++at) {
            keep(closed_left, left, right, at, best(closed_left, left, at) + best(open_left, at, right), at == left);
        }
        for (int64_t at = left + 1; at <= right; ++at) {
            keep(closed_right, left, right, at, best(open_right, left, at) + best(closed_right, at, right),
                 at == left + 1);
        }
    }

    void trace(Kind kind, int64_t left, int64_t right, int32_t* heads, int64_t step) const {
        if (left == right) return;
        const int64_t at = split_[cell(kind, left, right)];
        switch (kind) {
            case open_left:
            case open_right:
                heads[((kind == open_left ? left : right) - 1) * step] =
                    static_cast<int32_t>(kind == open_left ? right : left);
                trace(closed_right, left, at, heads, step);
                trace(closed_left, at + 1, right, heads, step);
                break;
            case closed_left:
                trace(closed_left, left, at, heads, step);
                trace(open_left, at, right, heads, step);
                break;
            case closed_right:
                trace(open_right, left, at, heads, step);
                trace(closed_right, at, right, heads, step);
                break;
        }
    }

    const ArcScores& scores_;
    int64_t nodes_;
    std::vector<float> best_;
    std::vector<int64_t> split_;
};

}  // namespace

void best_tree(const ArcScores& scores, int32_t* heads, int64_t step) {
    if (!greedy(scores, heads, step)) Projective(scores).solve(heads, step);
}

}  // namespace capeval
