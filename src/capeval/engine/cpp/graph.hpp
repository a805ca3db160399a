// Basic dependency trees to the graphs that the rules of SPICE read: capeval/engine/graph.py, step by step and under the
// same names; what the steps mean and why they are as they are is said there.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "common.hpp"

namespace capeval {

using Text = std::string_view;

template <size_t size>
bool is_one_of(Text text, const Text (&list)[size]) {
    return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

inline bool starts_with(Text text, Text beginning) { return text.substr(0, beginning.size()) == beginning; }

// The words and tags that the rules speak of: capeval.engine.graph_types.WordLists, field by field.
struct WordLists {
    using Words = std::unordered_set<Text>;

    Words nouns, plural_nouns, participles;
    Words counted_by_article, counted_alone, counted_before_article;
    Words singular_pronouns;
    Words prepositions_beside, prepositions_above, prepositions_of_three, preposition_ends;
    std::unordered_map<Text, Text> conjunctions;
};

// Lists that a word, or its tag, is in. Each word is looked up once, however often it is asked for.
enum WordClass : uint8_t {
    noun = 1,
    plural_noun = 2,
    participle = 4,
    counted_by_article = 8,
    counted_alone = 16,
    counted_before_article = 32,
    singular_pronoun = 64,
    preposition_end = 128,
};

// Distinct words with their tags. Words and lemmas are in lower case, `stems` are the lemmas as they stand; none of
// them contains white space.
struct TokenTable {
    std::vector<Text> words, tags, lemmas, stems;
    const WordLists& lists;
    std::vector<uint8_t> classes;

    TokenTable(std::vector<Text> words, std::vector<Text> tags, std::vector<Text> lemmas, std::vector<Text> stems,
               const WordLists& lists);
};

// Words by their places, from 1 on.
struct Caption {
    const TokenTable& table;
    const int32_t* tokens;
    int size;

    Text word(int place) const { return place > 0 ? table.words[tokens[place - 1]] : Text(); }
    Text tag(int place) const { return place > 0 ? table.tags[tokens[place - 1]] : Text(); }
    bool is(WordClass kind, int place) const { return place > 0 && (table.classes[tokens[place - 1]] & kind) != 0; }
};

struct Edge {
    int head;
    int dependent;
    std::string relation;
    bool shared;

    bool is(int other_head, int other_dependent, Text other_relation) const {
        return !shared && head == other_head && dependent == other_dependent && relation == other_relation;
    }
};

// A node is a word of the caption, by its place from 1 on, or, beyond those, a copy of one.
struct Node {
    int place;
    int copy;

    bool operator<(const Node& other) const {
        return place != other.place ? place < other.place : copy < other.copy;
    }
};

struct Graph {
    std::vector<Node> nodes;  // [0] is nobody
    std::vector<Edge> edges;  // by dependent, then head
    std::vector<int> roots;
};

// `heads` are places, 0 for the root, and `relations` numbers of names; one of each for every word.
Graph dependency_graph(const Caption& caption, const int32_t* heads, const int32_t* relations,
                       const std::vector<Text>& names);

}  // namespace capeval
