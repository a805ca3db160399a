#include "scene.hpp"

#include <iterator>
#include <numeric>

namespace capeval {
namespace {

constexpr int32_t absent = -1;
constexpr int kinds_counted = 3;  // cardinality, color, size: 1, 2 and 3 in SceneTuples::attribute_kinds

// Words that were found to mean the same, and all their synsets; both ascending.
struct Concept {
    std::vector<int32_t> words;
    std::vector<int32_t> synsets;
};

struct Attribute {
    int owner;
    Concept meaning;
};

struct Relation {
    int subject;
    Concept meaning;
    int object;
};

struct SceneGraph {
    std::vector<Concept> objects;
    std::vector<Attribute> attributes;
    std::vector<Relation> relations;
};

int64_t count_shared(const std::vector<int32_t>& one, const std::vector<int32_t>& other) {
    int64_t shared = 0;
    for (size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        shared += one[i] == other[j];
        const bool advance_one = one[i] <= other[j], advance_other = other[j] <= one[i];
        i += advance_one;
        j += advance_other;
    }
    return shared;
}

bool share_any(const std::vector<int32_t>& one, const std::vector<int32_t>& other) {
    for (size_t i = 0, j = 0; i < one.size() && j < other.size();) {
        if (one[i] == other[j]) return true;
        if (one[i] < other[j]) {
            ++i;
        } else {
            ++j;
        }
    }
    return false;
}

bool resembles(const Concept& one, const Concept& other) {
    return share_any(one.words, other.words) || share_any(one.synsets, other.synsets);
}

double similarity(const Concept& one, const Concept& other) {
    if (share_any(one.words, other.words)) return 1.0;
    const int64_t shared = count_shared(one.synsets, other.synsets);
    const auto all = static_cast<int64_t>(one.synsets.size() + other.synsets.size()) - shared;
    return shared > 0 ? static_cast<double>(shared) / static_cast<double>(all) : 0.0;
}

// A concept of one word has that word's synsets and no others, so words decide.
bool equals(const Concept& one, const Concept& other) { return one.words == other.words; }

void unite(std::vector<int32_t>& values, const std::vector<int32_t>& more) {
    std::vector<int32_t> all;
    all.reserve(values.size() + more.size());
    std::set_union(values.begin(), values.end(), more.begin(), more.end(), std::back_inserter(all));
    values = std::move(all);
}

void absorb(Concept& meaning, const Concept& other) {
    unite(meaning.words, other.words);
    unite(meaning.synsets, other.synsets);
}

Concept concept_of(const SceneTuples& tuples, int32_t word) {
    const int32_t* first = tuples.synsets.data + tuples.synset_offsets[word];
    const int32_t* last = tuples.synsets.data + tuples.synset_offsets[word + 1];
    return {{word}, {first, last}};
}

// The object that the word stands for: the same one, else the most similar, else a new one.
int object_of(const SceneTuples& tuples, int32_t word, std::vector<Concept>& objects) {
    Concept fresh = concept_of(tuples, word);
    for (size_t i = 0; i < objects.size(); ++i) {
        if (equals(objects[i], fresh)) return static_cast<int>(i);
    }
    size_t best = objects.size();
    double highest = 0.0;
    for (size_t i = 0; i < objects.size(); ++i) {
        const double value = similarity(objects[i], fresh);
        if (value > highest) {
            best = i;
            highest = value;
        }
    }
    if (best == objects.size()) {
        objects.push_back(std::move(fresh));
    } else {
        absorb(objects[best], fresh);
    }
    return static_cast<int>(best);
}

// Whether one of the items that may take the concept in did so: the same one, else the last similar.
template <class Item, class May>
bool merge(std::vector<Item>& items, const Concept& fresh, const May& may) {
    for (const Item& item : items) {
        if (may(item) && equals(item.meaning, fresh)) return true;
    }
    const auto last = std::find_if(items.rbegin(), items.rend(), [&](const Item& item) {
        return may(item) && resembles(item.meaning, fresh);
    });
    if (last == items.rend()) return false;
    absorb(last->meaning, fresh);
    return true;
}

void add_caption(const SceneTuples& tuples, int64_t caption, SceneGraph& graph) {
    for (int64_t row = tuples.offsets[caption]; row < tuples.offsets[caption + 1]; ++row) {
        const int32_t* words = tuples.words.data + 3 * row;
        const int object = object_of(tuples, words[0], graph.objects);
        if (words[1] == absent) continue;
        if (words[2] == absent) {
            Concept attribute = concept_of(tuples, words[1]);
            if (!merge(graph.attributes, attribute, [&](const Attribute& other) { return other.owner == object; })) {
                graph.attributes.push_back({object, std::move(attribute)});
            }
            continue;
        }
        const int other_object = object_of(tuples, words[1], graph.objects);
        Concept relation = concept_of(tuples, words[2]);
        const auto has_same_ends = [&](const Relation& other) {
            return other.subject == object && other.object == other_object;
        };
        if (!merge(graph.relations, relation, has_same_ends)) {
            graph.relations.push_back({object, std::move(relation), other_object});
        }
    }
}

// Which objects of the candidate resemble which of the references; attributes and relations ask again and again.
class Likeness {
public:
    Likeness(const SceneGraph& candidate, const SceneGraph& reference)
        : width_(reference.objects.size()), alike_(candidate.objects.size() * width_) {
        for (size_t i = 0; i < candidate.objects.size(); ++i) {
            for (size_t j = 0; j < width_; ++j) {
                alike_[i * width_ + j] = resembles(candidate.objects[i], reference.objects[j]);
            }
        }
    }

    bool operator()(int one, int other) const { return alike_[static_cast<size_t>(one) * width_ + other]; }

private:
    size_t width_;
    std::vector<char> alike_;
};

template <class Item, class Alike>
int64_t count_matched(const std::vector<Item>& candidate, const std::vector<Item>& reference, const Alike& alike) {
    return std::count_if(candidate.begin(), candidate.end(), [&](const Item& one) {
        return std::any_of(reference.begin(), reference.end(), [&](const Item& other) { return alike(one, other); });
    });
}

// An attribute that was merged from several words is of no kind.
std::vector<Attribute> of_kind(const std::vector<Attribute>& attributes, const SceneTuples& tuples, int kind) {
    std::vector<Attribute> found;
    std::copy_if(attributes.begin(), attributes.end(), std::back_inserter(found), [&](const Attribute& each) {
        return each.meaning.words.size() == 1 && tuples.attribute_kinds[each.meaning.words[0]] == kind;
    });
    return found;
}

void compare(const SceneTuples& tuples, const SceneGraph& candidate, const SceneGraph& reference, double* counts) {
    const Likeness same_object(candidate, reference);
    const auto put = [&](int64_t matched, size_t ours, size_t theirs) {
        *counts++ = static_cast<double>(matched);
        *counts++ = static_cast<double>(ours);
        *counts++ = static_cast<double>(theirs);
    };
    const auto same_attribute = [&](const Attribute& one, const Attribute& other) {
        return same_object(one.owner, other.owner) && resembles(one.meaning, other.meaning);
    };
    const auto same_relation = [&](const Relation& one, const Relation& other) {
        return same_object(one.subject, other.subject) && same_object(one.object, other.object) &&
               resembles(one.meaning, other.meaning);
    };
    put(count_matched(candidate.objects, reference.objects, resembles), candidate.objects.size(),
        reference.objects.size());
    put(count_matched(candidate.attributes, reference.attributes, same_attribute), candidate.attributes.size(),
        reference.attributes.size());
    put(count_matched(candidate.relations, reference.relations, same_relation), candidate.relations.size(),
        reference.relations.size());
    for (int kind = 1; kind <= kinds_counted; ++kind) {
        const auto ours = of_kind(candidate.attributes, tuples, kind);
        const auto theirs = of_kind(reference.attributes, tuples, kind);
        put(count_matched(ours, theirs, same_attribute), ours.size(), theirs.size());
    }
}

void check(const SceneTuples& tuples) {
    check_offsets(tuples.offsets, tuples.words.size / 3, "tuple_offsets must rise from 0 to the number of tuples");
    check_offsets(tuples.synset_offsets, tuples.synsets.size,
                  "synset_offsets must rise from 0 to the number of synsets");
    const int64_t words = tuples.vocabulary();
    for (int64_t i = 0; i < tuples.words.size; i += 3) {
        const int32_t first = tuples.words[i], second = tuples.words[i + 1], third = tuples.words[i + 2];
        require(first >= 0 && first < words, "tuples must begin with a word");
        require(std::min(second, third) >= absent && std::max(second, third) < words,
                "tuples must hold numbers of words, or -1");
        require(second != absent || third == absent, "tuples must be filled up with -1 at the end");
    }
    const View<uint8_t>& kinds = tuples.attribute_kinds;
    require(kinds.size == words &&
                std::all_of(kinds.begin(), kinds.end(), [](uint8_t kind) { return kind <= kinds_counted; }),
            "attribute_kinds must hold a number below 4 for each word");
}

// Rows in the order of their groups, so that the graph of the references is made once for each group.
std::vector<int64_t> rows_by_group(const Rows& rows) {
    std::vector<int64_t> order(static_cast<size_t>(rows.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return rows.group[a] < rows.group[b]; });
    return order;
}

}  // namespace

Buffer<double> scene_stats(const SceneTuples& tuples, const Rows& rows, int threads) {
    check_threads(threads);
    check(tuples);
    check(rows, tuples.captions());
    const std::vector<int64_t> order = rows_by_group(rows);
    Buffer<double> stats(rows.count() * scene_columns);
    for_blocks(rows.count(), 64, threads, [&](int64_t begin, int64_t end) {
        int32_t group = absent;
        SceneGraph reference;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t row = order[static_cast<size_t>(i)];
            if (rows.group[row] != group) {
                group = rows.group[row];
                reference = {};
                for (const int32_t caption : rows.references(row)) add_caption(tuples, caption, reference);
            }
            SceneGraph candidate;
            add_caption(tuples, rows.candidate[row], candidate);
            compare(tuples, candidate, reference, stats.data() + row * scene_columns);
        }
    });
    return stats;
}

}  // namespace capeval
