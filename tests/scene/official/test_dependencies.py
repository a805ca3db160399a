"""Trees to basic dependencies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capeval.scene.official.dependencies import basic_dependencies
from capeval.scene.official.tree import Tree, read_tree

CASES = {
    "determiner, adjective, compound": (
        "(ROOT (NP (DT the) (JJ green) (NN garden) (NN gate)))",
        "4:det 4:amod 4:compound 0:root",
    ),
    "subject and auxiliary": (
        "(ROOT (S (NP (DT the) (NN cook)) (VP (VBZ is) (VP (VBG tasting) (NP (NN soup))))))",
        "2:det 4:nsubj 4:aux 0:root 4:dobj",
    ),
    "passive": (
        "(ROOT (S (NP (DT the) (NN letter)) (VP (VBZ is) (VP (VBN sealed) (PP (IN with) (NP (NN wax)))))))",
        "2:det 4:nsubjpass 4:auxpass 0:root 6:case 4:nmod",
    ),
    "copula": (
        "(ROOT (S (NP (DT the) (NN soup)) (VP (VBZ is) (ADJP (RB very) (JJ salty)))))",
        "2:det 5:nsubj 5:cop 5:advmod 0:root",
    ),
    "preposition as predicate": (
        "(ROOT (S (NP (DT the) (NN key)) (VP (VBZ is) (PP (IN under) (NP (DT the) (NN mat))))))",
        "2:det 6:nsubj 6:cop 6:case 6:det 0:root",
    ),
    "expletive": (
        "(ROOT (S (NP (EX there)) (VP (VBZ is) (NP (NP (DT a) (NN key)) (PP (IN under) (NP (DT the) (NN mat)))))))",
        "2:expl 0:root 4:det 2:nsubj 7:case 7:det 4:nmod",
    ),
    "coordination of modifiers": (
        "(ROOT (NP (DT a) (JJ thin) (CC and) (JJ bitter) (NN soup)))",
        "5:det 5:amod 2:cc 2:conj 0:root",
    ),
    "coordination of nouns in a flat phrase": (
        "(ROOT (NP (DT a) (JJ sharp) (NN knife) (CC and) (NN fork)))",
        "3:det 3:amod 0:root 3:cc 3:conj",
    ),
    "flat coordination, two modifiers before the noun: taken for nouns": (
        "(ROOT (NP (DT a) (JJ red) (CC and) (JJ blue) (NN garden) (NN gate)))",
        "2:det 0:root 2:cc 6:amod 6:compound 2:conj",
    ),
    "coordination of phrases": (
        "(ROOT (NP (NP (DT a) (NN cook)) (CC and) (NP (DT a) (NN baker))))",
        "2:det 0:root 2:cc 5:det 2:conj",
    ),
    "participle": (
        "(ROOT (NP (NP (DT a) (NN cook)) (VP (VBG tasting) (NP (NN soup)))))",
        "2:det 0:root 2:acl 3:dobj",
    ),
    "relative clause": (
        "(ROOT (NP (NP (DT a) (NN cook)) (SBAR (WHNP (WP who)) (S (VP (VBZ tastes) (NP (NN soup)))))))",
        "2:det 0:root 4:nsubj 2:acl:relcl 4:dobj",
    ),
    "the object of the verb above": (
        "(ROOT (S (NP (PRP she)) (VP (VBZ helps) (S (NP (DT the) (NN cook)) (VP (TO to) (VP (VB taste)))))))",
        "2:nsubj 0:root 4:det 2:dobj 6:mark 2:xcomp",
    ),
    "particle, number, possessive": (
        "(ROOT (S (NP (CD two) (NNS cooks)) (VP (VBP pick) (PRT (RP up)) (NP (PRP$ their) (NNS spoons)))))",
        "2:nummod 3:nsubj 0:root 3:compound:prt 6:nmod:poss 3:dobj",
    ),
    "negation": (
        "(ROOT (S (NP (DT no) (NN soup)) (VP (VBZ does) (RB not) (VP (VB boil)))))",
        "2:neg 5:nsubj 5:aux 5:neg 0:root",
    ),
    "two objects": (
        "(ROOT (S (NP (PRP she)) (VP (VBZ gives) (NP (DT the) (NN cook)) (NP (DT a) (NN spoon)))))",
        "2:nsubj 0:root 4:det 2:iobj 6:det 2:dobj",
    ),
    "stray preposition": (
        "(ROOT (S (NP (PRP she)) (VP (VBZ cooks) (PP (IN with) (NP (DT an) (NN apron))) (PP (IN on)))))",
        "2:nsubj 0:root 5:case 5:det 2:nmod 5:case",
    ),
    "adverbial clause": (
        "(ROOT (S (NP (PRP she)) (VP (VBZ sings) (SBAR (IN while) (S (NP (DT the) (NN soup)) (VP (VBZ boils)))))))",
        "2:nsubj 0:root 6:mark 5:det 6:nsubj 2:advcl",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_small_trees(name: str) -> None:
    text, expected = CASES[name]
    found = basic_dependencies(read_tree(text))
    assert " ".join(f"{head}:{relation}" for head, _, relation in found) == expected


def test_a_tree_without_words_has_no_dependencies() -> None:
    assert basic_dependencies(Tree("ROOT")) == []
    assert basic_dependencies(Tree("ROOT", [Tree("NP"), Tree("VP", [Tree("S")])])) == []


def test_a_single_word_is_the_root() -> None:
    assert basic_dependencies(Tree("NN", word="soup", index=1)) == [(0, 1, "root")]


def test_deep_trees_do_not_overflow_the_stack() -> None:
    text = "(NP (NN end))"
    for _ in range(3000):
        text = f"(NP (NP (NN box)) (PP (IN in) {text}))"
    found = basic_dependencies(read_tree(f"(ROOT {text})"))
    assert len(found) == 6001


def words(text: str) -> list[str]:
    return text.split()


LABELS = words(
    "NP VP S PP SBAR ADJP ADVP FRAG UCP SINV SQ SBARQ X WHNP WHPP WHADVP QP NX PRT CONJP PRN NP-TMP INTJ RRC"
)
TAGS = words("NN NNS NNP JJ DT IN TO VB VBZ VBP VBD VBG VBN MD CC CD PRP PRP$ RB RP EX POS WDT WP WRB UH SYM $ . , :")
WORDS = words("soup is has gets no not both and such as in order day there to that while seems tells well of 's cooks")

leaves = st.builds(lambda tag, word: Tree(tag, word=word), st.sampled_from(TAGS), st.sampled_from(WORDS))
trees = st.recursive(
    leaves,
    lambda inner: st.builds(Tree, st.sampled_from(LABELS), st.lists(inner, min_size=0, max_size=6)),
    max_leaves=25,
)


def number_words(tree: Tree, before: int = 0) -> int:
    if tree.word is not None:
        tree.index = before + 1
        return tree.index
    for child in tree.children:
        before = number_words(child, before)
    return before


@given(trees)
def test_every_tree_becomes_one_rooted_tree_over_its_words(tree: Tree) -> None:
    size = number_words(tree)
    found = basic_dependencies(tree)
    assert [dependent for _, dependent, _ in found] == list(range(1, size + 1))
    heads = {dependent: head for head, dependent, _ in found}
    assert sum(head == 0 for head in heads.values()) == (size > 0)
    assert all((relation == "root") == (head == 0) and relation for head, _, relation in found)
    for word in heads:
        steps = 0
        while word:
            word = heads[word]
            steps += 1
            assert steps <= size, "a cycle"
    assert basic_dependencies(tree) == found


def test_official_dependencies(official_parses: list[dict[str, Any]]) -> None:
    same = 0
    for caption in official_parses:
        same += all(
            basic_dependencies(read_tree(sentence["tree"])) == sorted(map(tuple, sentence["basic"]), key=lambda d: d[1])
            for sentence in caption["sentences"]
        )
    assert same >= 0.993 * len(official_parses)
