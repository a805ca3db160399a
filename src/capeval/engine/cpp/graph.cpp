#include "graph.hpp"

namespace capeval {
namespace {

constexpr Text any_subjects[] = {"nsubj", "nsubjpass", "csubj", "csubjpass", "expl"};
constexpr Text kept[] = {"root", "acl:relcl", "ccomp", "advcl"};

bool is_subject(Text relation) { return relation == "nsubj" || relation == "nsubjpass"; }

class Builder {
public:
    Builder(const Caption& caption, const int32_t* heads, const int32_t* relations, const std::vector<Text>& names)
        : caption_(caption), lists_(caption.table.lists), children_(static_cast<size_t>(caption.size + 1)) {
        heads_.push_back(-1);
        relations_.emplace_back();
        for (int place = 1; place <= caption.size; ++place) {
            heads_.push_back(heads[place - 1]);
            relations_.emplace_back(names[relations[place - 1]]);
            children_[heads_.back()].push_back(place);
        }
        for (int place = 0; place <= caption.size; ++place) nodes_.push_back({place, 0});
        join_prepositions();
        label_edges();
        roots_ = children_[0];
        std::stable_sort(edges_.begin(), edges_.end(), [&](const Edge& a, const Edge& b) {
            if (a.dependent != b.dependent) return nodes_[a.dependent] < nodes_[b.dependent];
            if (a.head != b.head) return nodes_[a.head] < nodes_[b.head];
            return a.relation < b.relation;
        });
    }

    Graph graph() { return {std::move(nodes_), std::move(edges_), std::move(roots_)}; }

private:
    bool has_child(int place, Text relation) const {
        const auto& all = children_[place];
        return std::any_of(all.begin(), all.end(), [&](int child) { return relations_[child] == relation; });
    }

    void move(int place, int head, const std::string& relation) {
        auto& before = children_[heads_[place]];
        before.erase(std::find(before.begin(), before.end(), place));
        heads_[place] = head;
        relations_[place] = relation;
        children_[head].push_back(place);
    }

    void take_place(int old, int fresh, const std::string& relation) {
        move(fresh, heads_[old], relation);
        for (const int child : std::vector<int>(children_[old])) move(child, fresh, std::string(relations_[child]));
    }

    void join_prepositions() {
        for (int last = 2; last <= caption_.size; ++last) {
            if (!caption_.is(preposition_end, last)) continue;
            const std::string two = std::string(caption_.word(last - 1)) + " " + std::string(caption_.word(last));
            const std::string three = std::string(caption_.word(last - 2)) + " " + two;
            if (last > 2 && lists_.prepositions_of_three.count(three) != 0) {
                join_three(last - 2);
            } else {
                join_two(last - 1, two);
            }
        }
    }

    void join_three(int first) {
        const int middle = first + 1, last = first + 2, noun = heads_[last];
        if (relations_[last] != "case" && relations_[last] != "mark") return;
        if (heads_[noun] != middle || heads_[first] != middle || relations_[first] != "case") return;
        if (relations_[noun] != "nmod" && relations_[noun] != "acl" && relations_[noun] != "advcl") return;
        take_place(middle, noun, std::string(relations_[noun] == "acl" ? "acl" : relations_[middle]));
        move(first, noun, relations_[noun] == "acl" ? "mark" : "case");
        move(middle, first, "mwe");
        move(last, first, "mwe");
    }

    void join_two(int first, Text phrase) {
        const int last = first + 1, noun = heads_[last];
        if (relations_[last] != "case") return;
        if (heads_[first] == noun) {
            const bool is_marker = relations_[first] == "case" || relations_[first] == "advmod";
            if (!is_marker || !children_[first].empty() || lists_.prepositions_beside.count(phrase) == 0) return;
        } else {
            if (heads_[noun] != first || relations_[noun] != "nmod" || lists_.prepositions_above.count(phrase) == 0) return;
            take_place(first, noun, relation_above(first));
        }
        move(first, noun, "case");
        move(last, first, "mwe");
    }

    std::string relation_above(int first) const {
        const std::string& relation = relations_[first];
        if (relation == "conj") return has_child(first, "cop") ? relation : "nmod";
        return is_one_of(relation, kept) ? relation : "nmod";
    }

    void label_edges() {
        labels_ = relations_;
        std::vector<int> conjuncts;
        for (int place = 1; place <= caption_.size; ++place) {
            const std::string& relation = relations_[place];
            if (relation == "nmod" || relation == "advcl" || relation == "acl") {
                labels_[place] = with_preposition(place, relation);
            } else if (relation == "conj") {
                conjuncts.push_back(place);
            }
        }
        for (const int place : conjuncts) labels_[place] = with_conjunction(place);
        for (int place = 1; place <= caption_.size; ++place) {
            if (heads_[place] > 0) edges_.push_back({heads_[place], place, labels_[place], false});
        }
        for (const int place : conjuncts) share(place);
    }

    std::string with_preposition(int place, const std::string& relation) const {
        int chosen = 0;
        for (const int child : children_[place]) {
            if (relations_[child] != "case") continue;
            const auto rank = [&](int marker) { return std::pair(!children_[marker].empty(), marker); };
            if (chosen == 0 || rank(child) > rank(chosen)) chosen = child;
        }
        if (chosen == 0) return relation;
        std::vector<int> words{chosen};
        for (const int child : children_[chosen]) {
            if (relations_[child] == "mwe") words.push_back(child);
        }
        std::sort(words.begin(), words.end());
        std::string name;
        for (const int word : words) {
            if (word != words.front()) name += "_";
            name += caption_.word(word);
        }
        if (name == "by" && relation == "nmod" && has_child(heads_[place], "auxpass")) name = "agent";
        return relation + ":" + name;
    }

    std::string with_conjunction(int place) const {
        int chosen = 0, first = 0;
        for (const int child : children_[heads_[place]]) {
            if (relations_[child] != "cc") continue;
            if (first == 0) first = child;
            if (child < place) chosen = std::max(chosen, child);
        }
        if (chosen == 0) chosen = first;
        return chosen == 0 ? "conj" : "conj:" + conjunction(chosen);
    }

    std::string conjunction(int place) const {
        std::string phrase(caption_.word(place));
        for (const int child : children_[place]) (phrase += " ") += caption_.word(child);
        const auto found = lists_.conjunctions.find(phrase);
        return std::string(found == lists_.conjunctions.end() ? caption_.word(place) : found->second);
    }

    void share(int place) {
        const int first = heads_[place];
        if (labels_[place] == "conj") return;
        if (labels_[first] == "case") return share_prepositions(place);
        if (starts_with(labels_[first], "nmod:") && has_own_preposition(place)) return share_by_copy(place);
        if (heads_[first] > 0) edges_.push_back({heads_[first], place, labels_[first], true});
        const Text tag = caption_.tag(place);
        if (starts_with(tag, "V") || starts_with(tag, "J")) share_subject(place);
    }

    void share_subject(int place) {
        for (const int child : children_[place]) {
            if (is_one_of(relations_[child], any_subjects)) return;
        }
        for (const int child : children_[heads_[place]]) {
            if (is_subject(relations_[child])) edges_.push_back({place, child, shared_subject(child, place), true});
        }
    }

    std::string shared_subject(int subject, int place) const {
        if (has_child(place, "auxpass")) return "nsubjpass";
        return caption_.is(participle, place) ? relations_[subject] : "nsubj";
    }

    bool has_own_preposition(int place) const {
        const auto& all = children_[place];
        return std::any_of(all.begin(), all.end(),
                           [&](int child) { return relations_[child] == "case" && caption_.tag(child) != "POS"; });
    }

    bool remove_edge(int head, int dependent, Text relation) {
        const auto found = std::find_if(edges_.begin(), edges_.end(),
                                        [&](const Edge& edge) { return edge.is(head, dependent, relation); });
        if (found == edges_.end()) return false;
        edges_.erase(found);
        return true;
    }

    void share_by_copy(int place) {
        const int first = heads_[place], verb = heads_[first];
        const int copy = add_copy(verb, labels_[place]);
        remove_edge(first, place, labels_[place]);
        edges_.push_back({copy, place, with_preposition(place, "nmod"), false});
        for (const int child : children_[first]) {
            const bool is_free = relations_[child] == "cc" && remove_edge(first, child, "cc");
            if (is_free) edges_.push_back({verb, child, "cc", false});
        }
    }

    void share_prepositions(int place) {
        const int noun = heads_[heads_[place]], verb = heads_[noun];
        if (verb > 0 && relations_[noun] == "nmod") {
            const int copy = add_copy(verb, labels_[place]);
            edges_.push_back({copy, noun, "nmod:" + std::string(caption_.word(place)), true});
        }
    }

    int add_copy(int verb, const std::string& relation) {
        int number = 1;
        for (const Edge& edge : edges_) {
            number += edge.head == verb && nodes_[edge.dependent].place == verb && nodes_[edge.dependent].copy > 0;
        }
        const int copy = static_cast<int>(nodes_.size());
        nodes_.push_back({verb, number});
        edges_.push_back({verb, copy, relation, false});
        if (heads_[verb] > 0) edges_.push_back({heads_[verb], copy, labels_[verb], true});
        for (const int child : children_[verb]) {
            if (is_subject(relations_[child])) edges_.push_back({copy, child, relations_[child], true});
        }
        return copy;
    }

    const Caption& caption_;
    const WordLists& lists_;
    std::vector<int> heads_;
    std::vector<std::string> relations_, labels_;
    std::vector<std::vector<int>> children_;
    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<int> roots_;
};

}  // namespace

TokenTable::TokenTable(std::vector<Text> words, std::vector<Text> tags, std::vector<Text> lemmas,
                       std::vector<Text> stems, const WordLists& lists)
    : words(std::move(words)), tags(std::move(tags)), lemmas(std::move(lemmas)), stems(std::move(stems)), lists(lists) {
    require(this->tags.size() == this->words.size() && this->lemmas.size() == this->words.size() &&
                this->stems.size() == this->words.size(),
            "words, tags, lemmas and stems must be of one length");
    classes.assign(this->words.size(), 0);
    for (size_t row = 0; row < classes.size(); ++row) {
        const auto mark = [&](const WordLists::Words& list, Text text, WordClass kind) {
            if (list.count(text) != 0) classes[row] |= kind;
        };
        mark(lists.nouns, this->tags[row], noun);
        mark(lists.plural_nouns, this->tags[row], plural_noun);
        mark(lists.participles, this->tags[row], participle);
        mark(lists.counted_by_article, this->words[row], counted_by_article);
        mark(lists.counted_alone, this->words[row], counted_alone);
        mark(lists.counted_before_article, this->words[row], counted_before_article);
        mark(lists.singular_pronouns, this->words[row], singular_pronoun);
        mark(lists.preposition_ends, this->words[row], preposition_end);
    }
}

Graph dependency_graph(const Caption& caption, const int32_t* heads, const int32_t* relations,
                       const std::vector<Text>& names) {
    return Builder(caption, heads, relations, names).graph();
}

}  // namespace capeval
