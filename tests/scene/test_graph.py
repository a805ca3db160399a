"""Basic dependencies to the enhanced graph."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from capeval.engine.graph_types import Graph, Token
from capeval.scene.graph import enhanced_graph, graph_from_json, graph_of_tree
from capeval.scene.official.tree import Tree, read_tree


def graph(sentence: str) -> Graph:
    """ "the/DT/2:det cook/NN/0:root": word, tag, head and relation."""
    tokens, basic = [], []
    for place, entry in enumerate(sentence.split(), start=1):
        word, tag, rest = entry.split("/")
        head, _, relation = rest.partition(":")
        tokens.append(Token(word, tag, word))
        basic.append((int(head), place, relation))
    return enhanced_graph(tokens, basic)


def written(found: Graph) -> str:
    return " ".join(f"{e.head}>{e.dependent}:{e.relation}{'*' * e.shared}" for e in found.edges)


def test_a_preposition_goes_into_the_label() -> None:
    found = graph("soup/NN/0:root in/IN/4:case the/DT/4:det pot/NN/1:nmod")
    assert written(found) == "4>2:case 4>3:det 1>4:nmod:in"
    assert found.roots == ("1",)


def test_agent() -> None:
    found = graph("soup/NN/3:nsubjpass is/VBZ/3:auxpass made/VBN/0:root by/IN/5:case cooks/NNS/3:nmod")
    assert "3>5:nmod:agent" in written(found)


def test_three_words_become_one_preposition() -> None:
    found = graph("stand/VB/0:root in/IN/3:case front/NN/1:nmod of/IN/6:case the/DT/6:det pot/NN/3:nmod")
    assert written(found) == "6>2:case 2>3:mwe 2>4:mwe 6>5:det 1>6:nmod:in_front_of"


def test_two_words_become_one_preposition_and_the_noun_may_become_the_root() -> None:
    found = graph("the/DT/2:det pot/NN/4:nsubj is/VBZ/4:cop next/JJ/0:root to/TO/7:case the/DT/7:det sink/NN/4:nmod")
    assert found.roots == ("7",)
    assert written(found) == "2>1:det 7>2:nsubj 7>3:cop 7>4:case 4>5:mwe 7>6:det"


def test_what_governs_a_conjunct_governs_all() -> None:
    found = graph("taste/VB/0:root soup/NN/1:dobj and/CC/2:cc bread/NN/2:conj")
    assert written(found) == "1>2:dobj 2>3:cc 1>4:dobj* 2>4:conj:and"


def test_a_subject_is_shared() -> None:
    found = graph("cooks/NNS/2:nsubj sing/VBP/0:root and/CC/2:cc dance/VBP/2:conj")
    assert written(found) == "2>1:nsubj 4>1:nsubj* 2>3:cc 2>4:conj:and"


def test_as_well_as_is_and() -> None:
    found = graph("soup/NN/0:root as/RB/1:cc well/RB/2:mwe as/IN/2:mwe bread/NN/1:conj")
    assert "1>5:conj:and" in written(found)


def test_phrases_with_different_prepositions_copy_their_governor() -> None:
    found = graph("cook/VB/0:root at/IN/3:case home/NN/1:nmod and/CC/3:cc in/IN/6:case town/NN/3:conj")
    assert written(found) == "1>1'1:conj:and 3>2:case 1>3:nmod:at 1>4:cc 6>5:case 1'1>6:nmod:in"


def test_two_prepositions_of_one_noun_copy_their_governor() -> None:
    found = graph("cook/VB/0:root on/IN/6:case or/CC/2:cc near/IN/2:conj the/DT/6:det fire/NN/1:nmod")
    assert written(found) == "1>1'1:conj:or 6>2:case 2>3:cc 2>4:conj:or 6>5:det 1>6:nmod:on 1'1>6:nmod:near*"


def test_from_a_tree() -> None:
    found = graph_of_tree(read_tree("(ROOT (NP (NP (NNS spoons)) (PP (IN on) (NP (DT the) (NNS tables)))))"))
    assert written(found) == "4>2:case 4>3:det 1>4:nmod:on"
    assert [token.lemma for token in found.tokens] == ["spoon", "on", "the", "table"]


def test_no_words_no_graph() -> None:
    assert graph_of_tree(Tree("ROOT")) == Graph((), (), ())


def words(text: str) -> list[str]:
    return text.split()


RELATIONS = words("nmod case mark mwe conj cc nsubj nsubjpass auxpass advmod dobj acl advcl cop dep acl:relcl")
WORDS = words("in front of next to on top and as well out by near soup 's")


@given(st.data())
def test_any_tree_gives_a_graph_over_its_words(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    order = data.draw(st.permutations(range(1, size + 1)))
    heads = {order[0]: 0} | {order[k]: order[data.draw(st.integers(0, k - 1))] for k in range(1, size)}
    tags = st.sampled_from(["NN", "IN", "VBN", "VBZ", "JJ", "POS", "CC"])
    tokens = [Token(data.draw(st.sampled_from(WORDS)), data.draw(tags), "x") for _ in range(size)]
    basic = [(h, d, data.draw(st.sampled_from(RELATIONS)) if h else "root") for d, h in sorted(heads.items())]
    found = enhanced_graph(tokens, basic)
    assert len(found.roots) == 1
    places = {node.partition("'")[0] for edge in found.edges for node in edge[:2]} | set(found.roots)
    assert places == {str(place) for place in range(1, size + 1)}
    assert enhanced_graph(tokens, basic) == found


def test_official_graphs(official_parses: list[dict[str, Any]]) -> None:
    from_basic = from_tree = 0
    for caption in official_parses:
        sentences = caption["sentences"]
        official = [graph_from_json(sentence) for sentence in sentences]
        basics = [[tuple(dependency) for dependency in sentence["basic"]] for sentence in sentences]
        from_basic += official == [enhanced_graph(g.tokens, basic) for g, basic in zip(official, basics)]
        from_tree += official == [graph_of_tree(read_tree(sentence["tree"])) for sentence in sentences]
    assert from_basic >= 0.998 * len(official_parses)
    assert from_tree >= 0.991 * len(official_parses)
