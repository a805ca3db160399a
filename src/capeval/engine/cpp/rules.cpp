#include "rules.hpp"

namespace capeval {
namespace {

constexpr Text counted_by_article[] = {
    "lot", "assortment", "number", "couple", "bunch", "handful", "litany", "sheaf", "slew", "dozen", "series",
    "variety", "multitude", "wad", "clutch", "wave", "mountain", "array", "spate", "string", "ton", "range",
    "plethora", "heap", "sort", "form", "kind", "type", "version", "bit", "pair", "triple", "total"};
constexpr Text counted_alone[] = {
    "lots", "many", "several", "plenty", "tons", "dozens", "multitudes", "mountains", "loads", "pairs", "tens",
    "hundreds", "thousands", "millions", "billions", "trillions"};
constexpr Text counted_before_article[] = {
    "some", "all", "both", "neither", "everyone", "nobody", "one", "two", "three", "four", "five", "six", "seven",
    "eight", "nine", "ten", "hundred", "thousand", "million", "billion", "trillion"};
constexpr Text singular_pronouns[] = {
    "i", "me", "myself", "mine", "my", "yourself", "he", "him", "himself", "his", "she", "her", "herself", "hers",
    "it", "itself", "its", "one", "oneself", "one's"};

bool all_digits(Text text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_noun_tag(Text tag) { return tag == "NN" || tag == "NNS" || tag == "NNP" || tag == "NNPS"; }
bool is_plural_tag(Text tag) { return tag == "NNS" || tag == "NNPS"; }

bool has_preposition(Text label) {
    return starts_with(label, "nmod:") && label != "nmod:poss" && label != "nmod:agent";
}

bool is_object_or_nmod(Text label) {
    return starts_with(label, "nmod:") || (label.size() == 4 && label.substr(1) == "obj");
}

std::string preposition(Text label) {
    std::string name(label.substr(5));
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

int table_size(size_t size) {
    int table = 16;
    while (4 * static_cast<int64_t>(size) > 3 * int64_t{table}) table *= 2;
    return table;
}

class Net {
public:
    Net(const Caption& caption, Graph graph) : caption_(caption), all_(std::move(graph.nodes)), roots_(graph.roots) {
        std::vector<bool> used(all_.size(), false);
        for (const int root : roots_) used[root] = true;
        for (const Edge& edge : graph.edges) used[edge.head] = used[edge.dependent] = true;
        for (int node = 1; node < static_cast<int>(all_.size()); ++node) {
            if (used[node]) nodes_.push_back(node);
        }
        std::sort(nodes_.begin(), nodes_.end(), [&](int a, int b) { return all_[a] < all_[b]; });
        for (Edge& edge : graph.edges) links_.push_back({edge.head, edge.dependent, std::move(edge.relation)});
        arrange();
    }

    std::vector<FoundTuple> tuples() {
        demote_quantifiers();
        resolve_pronouns();
        subject_predicate_object();
        participle_with_object();
        predicate_without_object();
        copula();
        adjective_before_noun();
        adjective_with_subject();
        noun_with_preposition();
        possession();
        passive();
        numbers();
        compound();
        nouns();
        return std::move(found_);
    }

private:
    struct Link {
        int head;
        int dependent;
        std::string relation;
    };

    // What the links say, anew after each change.
    void arrange() {
        children_.assign(all_.size(), {});
        parents_.assign(all_.size(), {});
        for (int link = 0; link < static_cast<int>(links_.size()); ++link) {
            children_[links_[link].head].push_back(link);
            parents_[links_[link].dependent].push_back(link);
        }
        for (auto& children : children_) sort_as_hash_map(children);
        order_ = order();
    }

    int child(int link) const { return links_[link].dependent; }
    int head(int link) const { return links_[link].head; }
    const std::string& label(int link) const { return links_[link].relation; }

    void sort_as_hash_map(std::vector<int>& children) const {
        if (children.size() < 2) return;
        std::vector<int> distinct;  // in the order of their first links
        for (const int link : children) {
            const bool is_new = std::find(distinct.begin(), distinct.end(), child(link)) == distinct.end();
            if (is_new) distinct.push_back(child(link));
        }
        const int table = table_size(distinct.size());
        const auto key = [&](int link) {
            const auto first = std::find(distinct.begin(), distinct.end(), child(link)) - distinct.begin();
            return std::pair(all_[child(link)].place % table, first);
        };
        std::stable_sort(children.begin(), children.end(), [&](int a, int b) { return key(a) < key(b); });
    }

    std::vector<int> order() const {
        std::vector<int> sorted = nodes_;
        const int table = table_size(nodes_.size());
        std::stable_sort(sorted.begin(), sorted.end(),
                         [&](int a, int b) { return all_[a].place % table < all_[b].place % table; });
        enum State : char { fresh, open, finished };
        std::vector<State> state(all_.size(), fresh);
        std::vector<int> done;
        std::vector<std::pair<int, size_t>> path;  // a node, and how many of its children are seen to
        for (const int start : sorted) {
            if (state[start] != fresh) continue;
            state[start] = open;
            path.push_back({start, 0});
            while (!path.empty()) {
                auto& [node, next] = path.back();
                if (next == children_[node].size()) {
                    state[node] = finished;
                    done.push_back(node);
                    path.pop_back();
                    continue;
                }
                const int below = child(children_[node][next++]);
                if (state[below] == open) return sorted;
                if (state[below] == fresh) {
                    state[below] = open;
                    path.push_back({below, 0});
                }
            }
        }
        std::reverse(done.begin(), done.end());
        return done;
    }

    // Questions that the rules ask.

    int token(int node) const { return caption_.tokens[all_[node].place - 1]; }
    Text word(int node) const { return caption_.table.words[token(node)]; }
    Text tag(int node) const { return caption_.table.tags[token(node)]; }
    Text lemma(int node) const { return caption_.table.lemmas[token(node)]; }
    bool is_noun(int node) const { return is_noun_tag(tag(node)); }
    bool is_plural(int node) const { return is_plural_tag(tag(node)); }
    bool before(int a, int b) const { return all_[a] < all_[b]; }

    std::vector<int> by(int node, Text relation) const {
        std::vector<int> found;
        for (const int link : children_[node]) {
            if (label(link) == relation) found.push_back(child(link));
        }
        return found;
    }

    bool has(int node, Text relation) const {
        const auto& links = children_[node];
        return std::any_of(links.begin(), links.end(), [&](int link) { return label(link) == relation; });
    }

    std::vector<int> nouns_by(int node, Text relation) const {
        std::vector<int> found = by(node, relation);
        found.erase(std::remove_if(found.begin(), found.end(), [&](int each) { return !is_noun(each); }), found.end());
        return found;
    }

    std::vector<int> heads_by(Text relation) const {
        std::vector<int> found;
        for (const int node : order_) {
            if (has(node, relation)) found.push_back(node);
        }
        return found;
    }

    bool is_object(int link) const {
        const Text name = label(link);
        return (name == "iobj" || name == "dobj" || starts_with(name, "nmod:")) && is_noun(child(link));
    }

    // Quantifiers.

    struct Counted {
        int quantifier, noun, of;
    };

    void demote_quantifiers() {
        if (std::none_of(nodes_.begin(), nodes_.end(), [&](int node) { return word(node) == "of"; })) return;
        for (int kind = 0; kind < 3; ++kind) {
            std::vector<Counted> matches;
            for (const int node : nodes_) {
                if (counts(node, kind)) add_counted(node, kind, matches);
            }
            for (const Counted& match : matches) {
                std::vector<int> words = quantifier_words(match.quantifier, kind);
                words.push_back(match.of);
                demote(match.quantifier, match.noun, words);
            }
        }
    }

    bool is_article(int node) const { return word(node) == "a" || word(node) == "an"; }

    bool counts(int node, int kind) const {
        const Text text = word(node);
        if (kind == 0) {
            if (!is_one_of(text, counted_by_article)) return false;
            const std::vector<int> articles = by(node, "det");
            return std::any_of(articles.begin(), articles.end(), [&](int each) { return is_article(each); });
        }
        if (kind == 1) {
            const bool is_decade = !text.empty() && text.back() == 's' && all_digits(text.substr(0, text.size() - 1));
            return is_decade || is_one_of(text, counted_alone);
        }
        return all_digits(text) || is_one_of(text, counted_before_article);
    }

    void add_counted(int node, int kind, std::vector<Counted>& matches) const {
        for (const int link : children_[node]) {
            const int noun = child(link);
            if (!starts_with(label(link), "nmod")) continue;
            if (!starts_with(tag(noun), "NN") && !starts_with(tag(noun), "PRP")) continue;
            for (const int of : by(noun, "case")) {
                if (word(of) != "of" || all_[of].place != all_[node].place + 1) continue;
                if (kind == 2 && !has_article(noun, of)) continue;
                matches.push_back({node, noun, of});
                return;
            }
        }
    }

    bool has_article(int noun, int of) const {
        if (!starts_with(tag(noun), "NN")) return true;
        const std::vector<int> articles = by(noun, "det");
        return std::any_of(articles.begin(), articles.end(),
                           [&](int each) { return all_[each].place == all_[of].place + 1; });
    }

    std::vector<int> quantifier_words(int quantifier, int kind) const {
        std::vector<int> words;
        if (kind == 0) {
            for (const int each : by(quantifier, "amod")) {
                if (before(each, quantifier)) words.push_back(each);
            }
            for (const int each : by(quantifier, "det")) {
                if (is_article(each)) words.push_back(each);
            }
            return words;
        }
        for (const int link : children_[quantifier]) {
            if (before(child(link), quantifier)) words.push_back(child(link));
        }
        return words;
    }

    void demote(int quantifier, int noun, std::vector<int> words) {
        const auto root = std::find(roots_.begin(), roots_.end(), quantifier);
        std::vector<Link> links = links_;
        if (root != roots_.end()) {
            *root = noun;
        } else if (!parents_[quantifier].empty()) {
            const Link& above = links_[parents_[quantifier].front()];
            links.push_back({above.head, noun, above.relation});
        }
        words.push_back(quantifier);
        std::sort(words.begin(), words.end(), [&](int a, int b) { return before(a, b); });
        words.erase(std::unique(words.begin(), words.end()), words.end());
        const auto is_loose = [&](const Link& link) {
            if (link.dependent == quantifier) return true;
            if (link.head != quantifier && link.head != noun) return false;
            if (link.head == quantifier && link.dependent == noun) return true;
            return std::find(words.begin(), words.end(), link.dependent) != words.end();
        };
        links.erase(std::remove_if(links.begin(), links.end(), is_loose), links.end());
        links.push_back({noun, words.front(), "det:qmod"});
        for (size_t i = 1; i < words.size(); ++i) links.push_back({words.front(), words[i], "mwe"});
        links_ = std::move(links);
        arrange();
    }

    // Pronouns.

    void resolve_pronouns() {
        const auto is_pronoun = [&](int node) { return starts_with(tag(node), "PRP"); };
        if (roots_.empty() || std::none_of(nodes_.begin(), nodes_.end(), is_pronoun)) return;
        for (const int pronoun : std::vector<int>(order_)) {
            if (!is_pronoun(pronoun) || all_[pronoun].place == 1 || parents_[pronoun].empty()) continue;
            const int noun = antecedent(pronoun);
            if (noun > 0 && before(noun, pronoun)) replace(pronoun, noun);
        }
    }

    int antecedent(int pronoun) const {
        const bool singular = is_one_of(word(pronoun), singular_pronouns);
        int noun = nearest(roots_.front(), singular), node = pronoun;
        std::vector<bool> seen(all_.size(), false);
        seen[pronoun] = true;
        while (noun == 0) {
            const auto& links = parents_[node];
            const auto above = std::find_if(links.begin(), links.end(), [&](int link) { return !seen[head(link)]; });
            if (above == links.end()) return 0;
            node = head(*above);
            seen[node] = true;
            noun = nearest(node, singular);
        }
        return noun;
    }

    int nearest(int start, bool singular) const {
        std::vector<int> queue{start};
        std::vector<bool> seen(all_.size(), false);
        seen[start] = true;
        for (size_t i = 0; i < queue.size(); ++i) {
            const int node = queue[i];
            if (is_noun(node) && !(singular && is_plural(node))) return node;
            std::vector<int> below;
            for (const int link : children_[node]) {
                if (!seen[child(link)]) below.push_back(child(link));
                seen[child(link)] = true;
            }
            std::sort(below.begin(), below.end(), [&](int a, int b) { return before(a, b); });
            queue.insert(queue.end(), below.begin(), below.end());
        }
        return 0;
    }

    void replace(int pronoun, int noun) {
        std::vector<Link> links, moved;
        for (Link& link : links_) {
            const bool is_moved = link.head == pronoun || link.dependent == pronoun;
            if (link.head == pronoun) link.head = noun;
            if (link.dependent == pronoun) link.dependent = noun;
            (is_moved ? moved : links).push_back(std::move(link));
        }
        links.insert(links.end(), std::make_move_iterator(moved.begin()), std::make_move_iterator(moved.end()));
        links_ = std::move(links);
        nodes_.erase(std::find(nodes_.begin(), nodes_.end(), pronoun));
        for (int& root : roots_) {
            if (root == pronoun) root = noun;
        }
        arrange();
    }

    // The rules.

    void add(int noun) { found_.push_back({token(noun), -1, false, {}}); }
    void add(int noun, int attribute) { found_.push_back({token(noun), token(attribute), false, {}}); }
    void add(int subject, int thing, std::string relation) {
        found_.push_back({token(subject), token(thing), true, std::move(relation)});
    }

    std::string predicate(int node, Text label) const {
        const Text stem = caption_.table.stems[token(node)];
        const std::vector<int> particles = by(node, "compound:prt");
        std::string words(stem);
        if (!particles.empty()) (words = stem == "be" ? "" : stem) += " " + std::string(lemma(particles.front()));
        if (has_preposition(label)) words += " " + preposition(label);
        const size_t first = words.find_first_not_of(' ');
        return first == std::string::npos ? "" : words.substr(first, words.find_last_not_of(' ') - first + 1);
    }

    void add_objects(int subject, int node) {
        for (const int link : children_[node]) {
            if (is_object(link)) add(subject, child(link), predicate(node, label(link)));
        }
    }

    bool has_objects(int node) const {
        const auto& links = children_[node];
        return std::any_of(links.begin(), links.end(), [&](int link) { return is_object(link); });
    }

    void add_state(int subject, int node) {
        const std::vector<int> cases = by(node, "case");
        if (!cases.empty()) {
            std::string words(word(cases.front()));
            for (const int each : by(cases.front(), "mwe")) (words += " ") += word(each);
            add(subject, node, words);
        } else if (lemma(node) != "be") {
            add(subject, node);
        }
    }

    void subject_predicate_object() {
        for (const int node : heads_by("nsubj")) {
            if (has(node, "cop")) continue;
            for (const int subject : nouns_by(node, "nsubj")) add_objects(subject, node);
        }
    }

    void participle_with_object() {
        for (const int noun : heads_by("acl")) {
            for (const int participle : by(noun, "acl")) {
                if (starts_with(tag(participle), "V")) add_objects(noun, participle);
            }
        }
    }

    void predicate_without_object() {
        for (const int node : heads_by("nsubj")) {
            if (has(node, "cop") || has_objects(node)) continue;
            for (const int subject : nouns_by(node, "nsubj")) add_state(subject, node);
        }
    }

    void copula() {
        for (const int node : heads_by("cop")) {
            const size_t copulas = by(node, "cop").size();
            for (const int subject : nouns_by(node, "nsubj")) {
                for (size_t i = 0; i < copulas; ++i) add_state(subject, node);
            }
        }
    }

    void adjective_before_noun() {
        for (const int node : heads_by("amod")) {
            for (const int adjective : by(node, "amod")) add(node, adjective);
        }
    }

    void adjective_with_subject() {
        for (const int adjective : heads_by("nsubj")) {
            if (!starts_with(tag(adjective), "J")) continue;
            for (const int subject : by(adjective, "nsubj")) add(subject, adjective);
        }
    }

    void noun_with_preposition() {
        for (const int noun : order_) {
            if (!is_noun(noun)) continue;
            for (const int link : children_[noun]) {
                if (has_preposition(label(link))) add(noun, child(link), preposition(label(link)));
            }
        }
    }

    void possession() {
        for (const int thing : heads_by("nmod:poss")) {
            if (!is_noun(thing)) continue;
            for (const int owner : nouns_by(thing, "nmod:poss")) add(owner, thing, "have");
        }
    }

    void passive() {
        for (const int verb : heads_by("nmod:agent")) {
            if (!starts_with(tag(verb), "V")) continue;
            for (const int agent : nouns_by(verb, "nmod:agent")) {
                for (const int subject : nouns_by(verb, "nsubjpass")) {
                    add(agent, subject, predicate(verb, "nmod:agent"));
                }
            }
        }
    }

    int plural_subject(int node) const {
        for (const int subject : by(node, "nsubj")) {
            if (is_plural(subject)) return subject;
        }
        return 0;
    }

    int plural_object(int node) const {
        for (const int link : children_[node]) {
            const Text name = label(link);
            if (!is_plural(child(link)) || !is_object_or_nmod(name) || name == "nmod:agent") continue;
            if (!starts_with(name, "nmod:") || has(child(link), "case")) return child(link);
        }
        return 0;
    }

    void add_number(int noun) {
        for (const int number : by(noun, "nummod")) {
            if (before(number, noun)) return add(noun, number);
        }
        const std::vector<int> quantifiers = by(noun, "det:qmod");
        if (!quantifiers.empty()) add(noun, quantifiers.front());
    }

    void numbers() {
        const auto says_number = [](const Link& link) {
            return link.relation == "nummod" || link.relation == "det:qmod";
        };
        if (std::none_of(links_.begin(), links_.end(), says_number)) return;
        for (const int node : heads_by("nsubj")) {
            const int subject = plural_subject(node), thing = plural_object(node);
            if (subject == 0 || thing == 0) continue;
            add_number(subject);
            add_number(thing);
        }
        const auto is_root = [&](int node) { return std::find(roots_.begin(), roots_.end(), node) != roots_.end(); };
        for (const int noun : order_) {
            if (!is_plural(noun)) continue;
            const auto& links = parents_[noun];
            const bool in_clauses_with_plurals = std::all_of(links.begin(), links.end(), [&](int link) {
                return label(link) != "nsubj" || plural_object(head(link)) != 0;
            });
            if (is_root(noun) || !in_clauses_with_plurals) add_number(noun);
        }
        for (const int noun : order_) {
            if (!is_plural(noun) || is_root(noun)) continue;
            const auto& links = parents_[noun];
            const bool has_place = std::any_of(links.begin(), links.end(), [&](int link) {
                return label(link) == "nsubj" || (is_object_or_nmod(label(link)) && plural_subject(head(link)) != 0);
            });
            if (!has_place) add_number(noun);
        }
    }

    void compound() {
        for (const int node : heads_by("compound")) {
            if (!is_noun(node)) continue;
            for (const int modifier : nouns_by(node, "compound")) add(node, modifier);
        }
    }

    void nouns() {
        for (const int noun : order_) {
            if (!is_noun(noun)) continue;
            const auto& links = parents_[noun];
            const bool is_modifier = std::any_of(links.begin(), links.end(), [&](int link) {
                return label(link) == "compound" && is_noun(head(link));
            });
            if (!is_modifier && nouns_by(noun, "compound").empty()) add(noun);
        }
    }

    const Caption& caption_;
    std::vector<Node> all_;  // of the graph; [0] is nobody
    std::vector<int> roots_;
    std::vector<int> nodes_;  // those in use, sorted
    std::vector<Link> links_;
    std::vector<std::vector<int>> children_, parents_;  // links by node
    std::vector<int> order_;
    std::vector<FoundTuple> found_;
};

void check(const TokenTable& table, const DependencyTrees& trees) {
    const auto rows = static_cast<int64_t>(table.words.size());
    require(table.tags.size() == table.words.size() && table.lemmas.size() == table.words.size() &&
                table.stems.size() == table.words.size(),
            "words, tags, lemmas and stems must be of one length");
    require(trees.heads.size == trees.tokens.size && trees.relations.size == trees.tokens.size,
            "every token must have a head and a relation");
    check(Captions{trees.tokens, trees.offsets});
    check_range(trees.tokens, rows, "tokens must be rows of the table");
    check_range(trees.relations, static_cast<int64_t>(trees.names.size()), "relations must be numbers of names");
    for (int64_t c = 0; c + 1 < trees.offsets.size; ++c) {
        const int64_t words = trees.offsets[c + 1] - trees.offsets[c];
        for (int64_t i = trees.offsets[c]; i < trees.offsets[c + 1]; ++i) {
            const int64_t head = trees.heads[i], own = i - trees.offsets[c] + 1;
            require(head >= 0 && head <= words && head != own, "heads must be other words of the caption, or 0");
            require((head == 0) == (trees.names[trees.relations[i]] == "root"), "words without a head must be roots");
        }
    }
}

}  // namespace

std::vector<std::vector<FoundTuple>> dependency_tuples(const TokenTable& table, const DependencyTrees& trees) {
    check(table, trees);
    std::vector<std::vector<FoundTuple>> found;
    for (int64_t c = 0; c + 1 < trees.offsets.size; ++c) {
        const int64_t begin = trees.offsets[c];
        const Caption caption{table, trees.tokens.data + begin, static_cast<int>(trees.offsets[c + 1] - begin)};
        Graph graph =
            dependency_graph(caption, trees.heads.data + begin, trees.relations.data + begin, trees.names);
        found.push_back(Net(caption, std::move(graph)).tuples());
    }
    return found;
}

}  // namespace capeval
