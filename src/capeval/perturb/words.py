"""Word lists: people and what they say about themselves, scenes, colours, counts."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple


class Person(NamedTuple):
    """What a word for a person tells; "" where it tells nothing."""

    gender: str = ""
    age: str = ""
    role: str = ""

    def contradicts(self, other: Person) -> bool:
        """Whether nobody can be both. A man may be a player; he is no girl, and a surfer is no soldier."""
        return any(mine and its and mine != its for mine, its in zip(self, other))


_ROLES = """
    artist athlete bicyclist biker boxer bride bowler chef climber clown cook cowboy cyclist dancer dj doctor driver
    farmer fisherman fireman firefighter golfer groom guitarist gymnast hiker juggler jockey kayaker lifeguard
    motorcyclist musician nun nurse officer painter performer photographer pilot pitcher player policeman priest
    rider runner sailor salesman shopper singer skateboarder skater skier snowboarder soldier student surfer swimmer
    teacher vendor wakeboarder waiter waitress welder worker wrestler
"""
_WOMEN_BY_ROLE = frozenset(["bride", "nun", "waitress"])
_MEN_BY_ROLE = frozenset(["cowboy", "fireman", "fisherman", "groom", "policeman", "priest", "salesman", "waiter"])
# One role under several names.
_SAME_ROLE = {"bicyclist": "cyclist", "biker": "cyclist", "motorcyclist": "cyclist", "rider": "cyclist",
              "fireman": "firefighter", "policeman": "officer", "cook": "chef", "performer": "musician",
              "singer": "musician", "guitarist": "musician", "dancer": "musician", "dj": "musician",
              "athlete": "player", "pitcher": "player", "runner": "player", "skater": "skateboarder",
              "wakeboarder": "surfer", "snowboarder": "skier", "hiker": "climber", "kayaker": "sailor",
              "jockey": "cyclist", "artist": "painter", "waitress": "waiter", "vendor": "salesman"}  # fmt: skip


def _role(word: str) -> Person:
    gender = "f" if word in _WOMEN_BY_ROLE else "m" if word in _MEN_BY_ROLE else ""
    return Person(gender, "", _SAME_ROLE.get(word, word))


PERSONS: dict[str, Person] = {
    **dict.fromkeys(["man", "guy", "gentleman", "husband", "father", "dad", "grandfather"], Person("m", "adult")),
    **dict.fromkeys(["woman", "lady", "wife", "mother", "mom", "grandmother", "mum"], Person("f", "adult")),
    **dict.fromkeys(["boy", "son"], Person("m", "child")),
    **dict.fromkeys(["girl", "daughter"], Person("f", "child")),
    **dict.fromkeys(["male", "brother"], Person("m")),
    **dict.fromkeys(["female", "sister"], Person("f")),
    **dict.fromkeys(["child", "kid", "toddler", "baby", "infant", "youngster"], Person("", "child")),
    **dict.fromkeys(["adult", "parent", "grandparent"], Person("", "adult")),
    **dict.fromkeys(["person", "people", "individual", "someone", "somebody", "teenager", "friend", "family", "couple",
                     "crowd", "team", "spectator", "pedestrian", "bystander", "passenger", "human"], Person()),
    **{word: _role(word) for word in _ROLES.split()},
}  # fmt: skip
"""By lemma."""

_GROUPS = "group couple pair crowd bunch team line row number trio gathering band"
GROUPS = frozenset(_GROUPS.split())
"""A group of people is described by the people."""

_SCENES = {
    "water": "beach ocean sea lake river pool pond water shore shoreline waterfall bay harbor stream creek wave dock",
    "snow": "snow slope mountain mountainside ice rink snowbank glacier",
    "rock": "cliff canyon rock rocks cave desert dune",
    "grass": "park field grass lawn yard backyard garden meadow pasture playground hill hillside",
    "forest": "forest woods wood jungle trail",
    "street": "street road sidewalk city alley highway intersection crosswalk downtown town plaza market corner "
              "bridge parking lot courtyard square",
    "sport": "stadium court arena gym ring racetrack track ramp rodeo",
    "indoor": "room kitchen bedroom bathroom office restaurant bar store shop hallway house classroom stage church "
              "library museum garage hospital theater",
    "transport": "train bus subway station airport platform boat ship car",
}  # fmt: skip
SCENES: dict[str, str] = {word: kind for kind, words in _SCENES.items() for word in words.split()}
"""By lemma, the kind of place: a caption with another kind of place is wrong."""

_PREPOSITIONS = """
    in on at near by through along across inside outside into onto down up around beside beneath under over toward
    towards above alongside off from against behind between
"""
PLACE_PREPOSITIONS = frozenset(_PREPOSITIONS.split())

SIMILAR_COLOURS = {
    "red": "crimson", "blue": "navy", "green": "emerald", "yellow": "golden", "orange": "amber", "purple": "violet",
    "pink": "rosy", "brown": "tan", "black": "dark", "white": "ivory", "gray": "ashen",
    "grey": "ashen", "maroon": "burgundy", "silver": "metallic",
}  # fmt: skip
"""By colour, another word for it."""

SIMILAR_COUNTS = {
    "two": "a pair of", "three": "a trio of", "four": "a quartet of", "five": "a handful of", "six": "half a dozen",
    "twelve": "a dozen",
}  # fmt: skip
"""By number, another way to say it. One is not here: the noun would be wrong with any other number."""

REDUNDANT = (
    "at this moment", "in the picture", "as one can see", "in this scene", "at the time of the photo",
    "in front of the camera",
)  # fmt: skip
"""Phrases that add nothing to a caption."""


_SYNONYMS = """
    man guy, men guys, woman lady, women ladies, boy lad, girl lass, child kid, children kids, kid child, baby
    infant, toddler tot, dog canine, cat feline, bird fowl, bike bicycle, bicycle bike, car automobile, truck lorry,
    boat vessel, motorcycle motorbike, street road, road street, building structure, house home, beach seashore,
    ocean sea, lake lagoon, mountain peak, hill knoll, forest woods, field meadow, grass lawn, rock stone, path
    trail, trail path, river stream, photo picture, picture photo, jacket coat, coat jacket, hat cap, pants
    trousers, dress gown, bag sack, couch sofa, sofa couch, seat chair, table desk, cup mug, plate dish, food meal,
    stick rod, toy plaything, sign placard, crowd throng, group bunch, stage podium, room chamber, shop store, store
    shop, city town, snow snowfall, tent shelter, rope cord, fence barrier, stairs steps, walkway path, walk stroll,
    run sprint, jump leap, leap jump, throw toss, toss throw, catch grab, grab seize, hold grasp, climb scale, look
    gaze, watch observe, stare gaze, smile grin, laugh giggle, talk chat, speak talk, eat dine, sleep doze, rest
    relax, relax rest, sit perch, lie recline, carry haul, pull drag, push shove, chase pursue, swim paddle, splash
    spray, dig burrow, hike trek, kick boot, cook bake, small little, little small, big large, large big, huge
    enormous, tiny minuscule, young youthful, old elderly, elderly aged, happy glad, sad unhappy, wet soaked, dirty
    muddy, muddy dirty, tall high, high tall, fast quick, pretty beautiful, busy crowded, crowded packed, empty
    vacant, rocky stony, grassy verdant, snowy wintry, bright vivid, dark dim, colorful vibrant, shaggy hairy, furry
    fluffy, steep sheer, narrow slim, calm still
"""
SYNONYMS: dict[str, str] = dict(pair.split() for pair in _SYNONYMS.split(","))
"""Words of captions with one that says the same. Forms such as `walking` follow from these."""


def with_articles(words: list[str]) -> list[str]:
    """`a` and `an` as the next word wants them; by its letter, which is nearly always right."""
    result = list(words)
    for place, (word, following) in enumerate(pairwise(words)):
        if word in ("a", "an") and following[:1].isalpha():
            result[place] = "an" if following[0] in "aeiou" else "a"
    return result
