// A dependency graph as the rules of SPICE see it: capeval/engine/net.py, under the same names; what things mean and why
// they are as they are is said there.
#pragma once

#include "graph.hpp"

namespace capeval {

class Net {
public:
    struct Link {
        int head;
        int dependent;
        std::string relation;
    };

    Net(const Caption& caption, Graph graph);

    void demote_quantifiers();
    void resolve_pronouns();

    // Questions that the rules ask. Links are numbers.

    int child(int link) const { return links_[link].dependent; }
    int head(int link) const { return links_[link].head; }
    const std::string& label(int link) const { return links_[link].relation; }
    const std::vector<Link>& links() const { return links_; }
    const std::vector<int>& children(int node) const { return children_[node]; }
    const std::vector<int>& parents(int node) const { return parents_[node]; }
    const std::vector<int>& order() const { return order_; }
    bool is_root(int node) const { return std::find(roots_.begin(), roots_.end(), node) != roots_.end(); }

    int token(int node) const { return caption_.tokens[all_[node].place - 1]; }
    Text word(int node) const { return caption_.table.words[token(node)]; }
    Text tag(int node) const { return caption_.table.tags[token(node)]; }
    Text lemma(int node) const { return caption_.table.lemmas[token(node)]; }
    Text stem(int node) const { return caption_.table.stems[token(node)]; }
    bool is(WordClass kind, int node) const { return caption_.is(kind, all_[node].place); }
    bool is_noun(int node) const { return is(noun, node); }
    bool is_plural(int node) const { return is(plural_noun, node); }
    bool before(int a, int b) const { return all_[a] < all_[b]; }

    std::vector<int> by(int node, Text relation) const;
    bool has(int node, Text relation) const;
    std::vector<int> nouns_by(int node, Text relation) const;
    std::vector<int> heads_by(Text relation) const;

private:
    struct Counted {
        int quantifier, noun, of;
    };

    void arrange();
    void sort_as_hash_map(std::vector<int>& children) const;
    std::vector<int> find_order() const;

    bool is_article(int node) const { return word(node) == "a" || word(node) == "an"; }
    bool counts(int node, WordClass kind) const;
    void add_counted(int node, WordClass kind, std::vector<Counted>& matches) const;
    bool has_article(int noun, int of) const;
    std::vector<int> quantifier_words(int quantifier, WordClass kind) const;
    void demote(int quantifier, int noun, std::vector<int> words);

    int antecedent(int pronoun) const;
    int nearest(int start, bool is_singular) const;
    void replace(int pronoun, int noun);

    const Caption& caption_;
    std::vector<Node> all_;  // of the graph; [0] is nobody
    std::vector<int> roots_;
    std::vector<int> nodes_;  // those in use, sorted
    std::vector<Link> links_;
    std::vector<std::vector<int>> children_, parents_;  // links by node
    std::vector<int> order_;
};

}  // namespace capeval
