#include "rules.hpp"

#include "net.hpp"

namespace capeval {
namespace {

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

// Applies the rules one after the other; each adds its tuples.
class Rules {
public:
    explicit Rules(const Net& net) : net_(net) {}

    std::vector<FoundTuple> tuples() {
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
    bool is_object(int link) const {
        const Text name = net_.label(link);
        return (name == "iobj" || name == "dobj" || starts_with(name, "nmod:")) && net_.is_noun(net_.child(link));
    }

    void add(int noun) { found_.push_back({net_.token(noun), -1, false, {}}); }
    void add(int noun, int attribute) { found_.push_back({net_.token(noun), net_.token(attribute), false, {}}); }
    void add(int subject, int thing, std::string relation) {
        found_.push_back({net_.token(subject), net_.token(thing), true, std::move(relation)});
    }

    std::string predicate(int node, Text label) const {
        const Text stem = net_.stem(node);
        const std::vector<int> particles = net_.by(node, "compound:prt");
        std::string words(stem);
        if (!particles.empty()) (words = stem == "be" ? "" : stem) += " " + std::string(net_.lemma(particles.front()));
        if (has_preposition(label)) words += " " + preposition(label);
        const size_t first = words.find_first_not_of(' ');
        return first == std::string::npos ? "" : words.substr(first, words.find_last_not_of(' ') - first + 1);
    }

    void add_objects(int subject, int node) {
        for (const int link : net_.children(node)) {
            if (is_object(link)) add(subject, net_.child(link), predicate(node, net_.label(link)));
        }
    }

    bool has_objects(int node) const {
        const auto& links = net_.children(node);
        return std::any_of(links.begin(), links.end(), [&](int link) { return is_object(link); });
    }

    void add_state(int subject, int node) {
        const std::vector<int> cases = net_.by(node, "case");
        if (!cases.empty()) {
            std::string words(net_.word(cases.front()));
            for (const int each : net_.by(cases.front(), "mwe")) (words += " ") += net_.word(each);
            add(subject, node, words);
        } else if (net_.lemma(node) != "be") {
            add(subject, node);
        }
    }

    void subject_predicate_object() {
        for (const int node : net_.heads_by("nsubj")) {
            if (net_.has(node, "cop")) continue;
            for (const int subject : net_.nouns_by(node, "nsubj")) add_objects(subject, node);
        }
    }

    void participle_with_object() {
        for (const int noun : net_.heads_by("acl")) {
            for (const int participle : net_.by(noun, "acl")) {
                if (starts_with(net_.tag(participle), "V")) add_objects(noun, participle);
            }
        }
    }

    void predicate_without_object() {
        for (const int node : net_.heads_by("nsubj")) {
            if (net_.has(node, "cop") || has_objects(node)) continue;
            for (const int subject : net_.nouns_by(node, "nsubj")) add_state(subject, node);
        }
    }

    void copula() {
        for (const int node : net_.heads_by("cop")) {
            const size_t copulas = net_.by(node, "cop").size();
            for (const int subject : net_.nouns_by(node, "nsubj")) {
                for (size_t i = 0; i < copulas; ++i) add_state(subject, node);
            }
        }
    }

    void adjective_before_noun() {
        for (const int node : net_.heads_by("amod")) {
            for (const int adjective : net_.by(node, "amod")) add(node, adjective);
        }
    }

    void adjective_with_subject() {
        for (const int adjective : net_.heads_by("nsubj")) {
            if (!starts_with(net_.tag(adjective), "J")) continue;
            for (const int subject : net_.by(adjective, "nsubj")) add(subject, adjective);
        }
    }

    void noun_with_preposition() {
        for (const int noun : net_.order()) {
            if (!net_.is_noun(noun)) continue;
            for (const int link : net_.children(noun)) {
                if (has_preposition(net_.label(link))) add(noun, net_.child(link), preposition(net_.label(link)));
            }
        }
    }

    void possession() {
        for (const int thing : net_.heads_by("nmod:poss")) {
            if (!net_.is_noun(thing)) continue;
            for (const int owner : net_.nouns_by(thing, "nmod:poss")) add(owner, thing, "have");
        }
    }

    void passive() {
        for (const int verb : net_.heads_by("nmod:agent")) {
            if (!starts_with(net_.tag(verb), "V")) continue;
            for (const int agent : net_.nouns_by(verb, "nmod:agent")) {
                for (const int subject : net_.nouns_by(verb, "nsubjpass")) {
                    add(agent, subject, predicate(verb, "nmod:agent"));
                }
            }
        }
    }

    int plural_subject(int node) const {
        for (const int subject : net_.by(node, "nsubj")) {
            if (net_.is_plural(subject)) return subject;
        }
        return 0;
    }

    int plural_object(int node) const {
        for (const int link : net_.children(node)) {
            const Text name = net_.label(link);
            if (!net_.is_plural(net_.child(link)) || !is_object_or_nmod(name) || name == "nmod:agent") continue;
            if (!starts_with(name, "nmod:") || net_.has(net_.child(link), "case")) return net_.child(link);
        }
        return 0;
    }

    void add_number(int noun) {
        for (const int number : net_.by(noun, "nummod")) {
            if (net_.before(number, noun)) return add(noun, number);
        }
        const std::vector<int> quantifiers = net_.by(noun, "det:qmod");
        if (!quantifiers.empty()) add(noun, quantifiers.front());
    }

    void numbers() {
        const auto says_number = [](const Net::Link& link) {
            return link.relation == "nummod" || link.relation == "det:qmod";
        };
        if (std::none_of(net_.links().begin(), net_.links().end(), says_number)) return;
        for (const int node : net_.heads_by("nsubj")) {
            const int subject = plural_subject(node), thing = plural_object(node);
            if (subject == 0 || thing == 0) continue;
            add_number(subject);
            add_number(thing);
        }
        for (const int noun : net_.order()) {
            if (!net_.is_plural(noun)) continue;
            const auto& links = net_.parents(noun);
            const bool in_clauses_with_plurals = std::all_of(links.begin(), links.end(), [&](int link) {
                return net_.label(link) != "nsubj" || plural_object(net_.head(link)) != 0;
            });
            if (net_.is_root(noun) || !in_clauses_with_plurals) add_number(noun);
        }
        for (const int noun : net_.order()) {
            if (!net_.is_plural(noun) || net_.is_root(noun)) continue;
            const auto& links = net_.parents(noun);
            const bool has_place = std::any_of(links.begin(), links.end(), [&](int link) {
                return net_.label(link) == "nsubj" || (is_object_or_nmod(net_.label(link)) && plural_subject(net_.head(link)) != 0);
            });
            if (!has_place) add_number(noun);
        }
    }

    void compound() {
        for (const int node : net_.heads_by("compound")) {
            if (!net_.is_noun(node)) continue;
            for (const int modifier : net_.nouns_by(node, "compound")) add(node, modifier);
        }
    }

    void nouns() {
        for (const int noun : net_.order()) {
            if (!net_.is_noun(noun)) continue;
            const auto& links = net_.parents(noun);
            const bool is_modifier = std::any_of(links.begin(), links.end(), [&](int link) {
                return net_.label(link) == "compound" && net_.is_noun(net_.head(link));
            });
            if (!is_modifier && net_.nouns_by(noun, "compound").empty()) add(noun);
        }
    }

    const Net& net_;
    std::vector<FoundTuple> found_;
};

void check(const TokenTable& table, const DependencyTrees& trees) {
    const auto rows = static_cast<int64_t>(table.words.size());
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
        Net net(caption, std::move(graph));
        net.demote_quantifiers();
        net.resolve_pronouns();
        found.push_back(Rules(net).tuples());
    }
    return found;
}

}  // namespace capeval
