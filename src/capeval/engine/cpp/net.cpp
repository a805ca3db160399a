#include "net.hpp"

namespace capeval {
namespace {

bool all_digits(Text text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int table_size(size_t size) {
    int table = 16;
    while (4 * static_cast<int64_t>(size) > 3 * int64_t{table}) table *= 2;
    return table;
}

}  // namespace

Net::Net(const Caption& caption, Graph graph) : caption_(caption), all_(std::move(graph.nodes)), roots_(graph.roots) {
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

// What the links say, anew after each change.
void Net::arrange() {
    children_.assign(all_.size(), {});
    parents_.assign(all_.size(), {});
    for (int link = 0; link < static_cast<int>(links_.size()); ++link) {
        children_[links_[link].head].push_back(link);
        parents_[links_[link].dependent].push_back(link);
    }
    for (auto& children : children_) sort_as_hash_map(children);
    order_ = find_order();
}

void Net::sort_as_hash_map(std::vector<int>& children) const {
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

std::vector<int> Net::find_order() const {
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

std::vector<int> Net::by(int node, Text relation) const {
    std::vector<int> found;
    for (const int link : children_[node]) {
        if (label(link) == relation) found.push_back(child(link));
    }
    return found;
}

bool Net::has(int node, Text relation) const {
    const auto& links = children_[node];
    return std::any_of(links.begin(), links.end(), [&](int link) { return label(link) == relation; });
}

std::vector<int> Net::nouns_by(int node, Text relation) const {
    std::vector<int> found = by(node, relation);
    found.erase(std::remove_if(found.begin(), found.end(), [&](int each) { return !is_noun(each); }), found.end());
    return found;
}

std::vector<int> Net::heads_by(Text relation) const {
    std::vector<int> found;
    for (const int node : order_) {
        if (has(node, relation)) found.push_back(node);
    }
    return found;
}

// Quantifiers.

void Net::demote_quantifiers() {
    if (std::none_of(nodes_.begin(), nodes_.end(), [&](int node) { return word(node) == "of"; })) return;
    for (const WordClass kind : {counted_by_article, counted_alone, counted_before_article}) {
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

bool Net::counts(int node, WordClass kind) const {
    const Text text = word(node);
    if (kind == counted_by_article) {
        if (!is(kind, node)) return false;
        const std::vector<int> articles = by(node, "det");
        return std::any_of(articles.begin(), articles.end(), [&](int each) { return is_article(each); });
    }
    if (kind == counted_alone) {
        const bool is_decade = !text.empty() && text.back() == 's' && all_digits(text.substr(0, text.size() - 1));
        return is_decade || is(kind, node);
    }
    return all_digits(text) || is(kind, node);
}

void Net::add_counted(int node, WordClass kind, std::vector<Counted>& matches) const {
    for (const int link : children_[node]) {
        const int noun = child(link);
        if (!starts_with(label(link), "nmod")) continue;
        if (!starts_with(tag(noun), "NN") && !starts_with(tag(noun), "PRP")) continue;
        for (const int of : by(noun, "case")) {
            if (word(of) != "of" || all_[of].place != all_[node].place + 1) continue;
            if (kind == counted_before_article && !has_article(noun, of)) continue;
            matches.push_back({node, noun, of});
            return;
        }
    }
}

bool Net::has_article(int noun, int of) const {
    if (!starts_with(tag(noun), "NN")) return true;
    const std::vector<int> articles = by(noun, "det");
    return std::any_of(articles.begin(), articles.end(),
                       [&](int each) { return all_[each].place == all_[of].place + 1; });
}

std::vector<int> Net::quantifier_words(int quantifier, WordClass kind) const {
    std::vector<int> words;
    if (kind == counted_by_article) {
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

void Net::demote(int quantifier, int noun, std::vector<int> words) {
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

void Net::resolve_pronouns() {
    const auto is_pronoun = [&](int node) { return starts_with(tag(node), "PRP"); };
    if (roots_.empty() || std::none_of(nodes_.begin(), nodes_.end(), is_pronoun)) return;
    for (const int pronoun : std::vector<int>(order_)) {
        if (!is_pronoun(pronoun) || all_[pronoun].place == 1 || parents_[pronoun].empty()) continue;
        const int noun = antecedent(pronoun);
        if (noun > 0 && before(noun, pronoun)) replace(pronoun, noun);
    }
}

int Net::antecedent(int pronoun) const {
    const bool is_singular = is(singular_pronoun, pronoun);
    int noun = nearest(roots_.front(), is_singular), node = pronoun;
    std::vector<bool> seen(all_.size(), false);
    seen[pronoun] = true;
    while (noun == 0) {
        const auto& links = parents_[node];
        const auto above = std::find_if(links.begin(), links.end(), [&](int link) { return !seen[head(link)]; });
        if (above == links.end()) return 0;
        node = head(*above);
        seen[node] = true;
        noun = nearest(node, is_singular);
    }
    return noun;
}

int Net::nearest(int start, bool is_singular) const {
    std::vector<int> queue{start};
    std::vector<bool> seen(all_.size(), false);
    seen[start] = true;
    for (size_t i = 0; i < queue.size(); ++i) {
        const int node = queue[i];
        if (is_noun(node) && !(is_singular && is_plural(node))) return node;
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

void Net::replace(int pronoun, int noun) {
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

}  // namespace capeval
