//! Twenty words with two senses. The words around one say which it is: what the hero did with it or
//! saw of it.

/// A word, and for each of its senses some ways a sentence can go on after "One morning, she …".
pub(super) struct TwoSenses {
    /// As it is written in a story.
    pub word: &'static str,
    pub senses: [Sense; 2],
}

/// One of the two.
pub(super) struct Sense {
    /// What the word means here.
    pub meaning: &'static str,
    /// Predicates that contain the word once.
    pub uses: [&'static str; 3],
}

const fn word(word: &'static str, a: Sense, b: Sense) -> TwoSenses {
    TwoSenses { word, senses: [a, b] }
}

const fn sense(meaning: &'static str, uses: [&'static str; 3]) -> Sense {
    Sense { meaning, uses }
}

/// No story uses these words in any other place.
pub(super) const WORDS: [TwoSenses; 20] = [
    word(
        "bank",
        sense(
            "the side of a river",
            [
                "sat on the bank and threw stones into the river",
                "fished from the muddy bank of the river",
                "watched the ducks swim along the bank",
            ],
        ),
        sense(
            "a house for money",
            [
                "went to the bank to [save|change] some coins",
                "waited in the bank while a man counted the [money|coins]",
                "saw a guard at the bank where rich people kept their gold",
            ],
        ),
    ),
    word(
        "bat",
        sense(
            "an animal that flies at night",
            [
                "saw a bat hang upside down in the [barn|cave]",
                "watched a bat catch [moths|flies] before sunrise",
                "found a tiny bat asleep under the roof",
            ],
        ),
        sense(
            "a stick to hit a ball",
            [
                "hit the ball with a [heavy|wooden] bat",
                "swung the bat and hit the ball for the team",
                "bought a bat and a ball for the game",
            ],
        ),
    ),
    word(
        "red flag",
        sense(
            "a piece of cloth",
            [
                "saw a red flag on top of the ship",
                "sewed a red flag out of old cloth",
                "carried a red flag through the street",
            ],
        ),
        sense(
            "a sign that something is wrong",
            [
                "met a man whose story seemed like a red flag",
                "read a strange offer and called it a red flag",
                "found a broken lock and thought that it was a red flag",
            ],
        ),
    ),
    word(
        "bark",
        sense(
            "the skin of a tree",
            [
                "pulled some bark from a dead tree",
                "felt the rough bark of the oak",
                "watched a beetle walk over the bark of a tree",
            ],
        ),
        sense(
            "what a dog says",
            [
                "woke from the loud bark of a dog",
                "heard the [angry|happy] bark of a dog behind the fence",
                "recognized a dog by its deep bark",
            ],
        ),
    ),
    word(
        "spring",
        sense(
            "a season",
            [
                "saw the first flowers of spring",
                "was glad that winter was over and spring was here",
                "cleaned the house because spring had come after a long winter",
            ],
        ),
        sense(
            "a coil of metal",
            [
                "found a rusty spring in the broken clock",
                "stretched a metal spring until it broke",
                "repaired a clock that needed a new spring and some oil",
            ],
        ),
    ),
    word(
        "ring",
        sense(
            "a jewel for a finger",
            [
                "tried a gold ring on {his} finger",
                "found a ring with a green jewel",
                "bought a silver ring for {his} finger",
            ],
        ),
        sense(
            "the sound of a telephone",
            [
                "answered the telephone after the first ring",
                "heard the ring of the telephone",
                "slept until the ring of the alarm",
            ],
        ),
    ),
    word(
        "letter",
        sense(
            "a message on paper",
            [
                "got a long letter from a cousin",
                "put a stamp on a letter and took it to the post office",
                "opened the envelope and read the letter twice",
            ],
        ),
        sense(
            "a sign of the alphabet",
            [
                "learned to write the first letter of the alphabet",
                "spelled a long word and forgot one letter",
                "painted the letter at the end of the alphabet on a wall",
            ],
        ),
    ),
    word(
        "match",
        sense(
            "a stick that makes fire",
            [
                "struck a match to light the fire",
                "burned {his} thumb on a match",
                "held a match to the candle until it burned",
            ],
        ),
        sense(
            "a game of two teams",
            [
                "won a match of tennis",
                "watched a football match between two teams",
                "lost a chess match by one move",
            ],
        ),
    ),
    word(
        "wave",
        sense(
            "water that moves",
            [
                "jumped over a wave on the beach",
                "was made wet by a big wave from the sea",
                "saw a wave break over the side of the ship",
            ],
        ),
        sense(
            "a greeting with the hand",
            [
                "said goodbye to a cousin with a wave",
                "greeted the driver with a friendly wave",
                "answered a smile with a shy wave of the hand",
            ],
        ),
    ),
    word(
        "nail",
        sense(
            "a part of a finger",
            [
                "bit a nail on {his} thumb until it hurt",
                "painted every nail on one hand pink",
                "broke a nail on {his} left thumb",
            ],
        ),
        sense(
            "a metal pin for a hammer",
            [
                "hammered a nail into the wall",
                "hung a picture on a nail in the wall",
                "stepped on a rusty nail in an old board",
            ],
        ),
    ),
    word(
        "seal",
        sense(
            "an animal of the sea",
            [
                "saw a seal dive for fish",
                "watched a fat seal sleep on the ice",
                "fed fish to a seal at the zoo",
            ],
        ),
        sense(
            "wax that closes an envelope",
            [
                "broke the wax seal of an old envelope",
                "pressed a royal seal into hot wax",
                "opened an envelope with a seal of the king",
            ],
        ),
    ),
    word(
        "crane",
        sense(
            "a bird with long legs",
            [
                "saw a crane spread its wings and fly south",
                "watched a crane stand on one leg in the pond",
                "found a feather of a gray crane near its nest",
            ],
        ),
        sense(
            "a machine that lifts",
            [
                "watched a crane lift bricks onto a new building",
                "saw the driver of a crane load a ship",
                "heard the engine of a crane that was lifting steel",
            ],
        ),
    ),
    word(
        "trunk",
        sense(
            "the nose of an elephant",
            [
                "saw an elephant drink with its trunk",
                "gave nuts to an elephant that took them with its trunk",
                "laughed when an elephant lifted its trunk",
            ],
        ),
        sense(
            "the stem of a tree",
            [
                "cut a heart into the trunk of a tree",
                "leaned against the trunk of an old oak",
                "sat on the trunk of a fallen tree",
            ],
        ),
    ),
    word(
        "palm",
        sense(
            "a tree of warm countries",
            [
                "sat in the shade of a palm on the beach",
                "picked coconuts from a tall palm",
                "drew a palm with coconuts",
            ],
        ),
        sense(
            "the inside of a hand",
            [
                "held a beetle in the palm of one hand",
                "wrote a number on {his} palm with ink",
                "felt a splinter in {his} palm and washed the hand",
            ],
        ),
    ),
    word(
        "mouse",
        sense(
            "a small animal",
            [
                "saw a mouse nibble some cheese",
                "heard a mouse run from the cat into its hole",
                "found a gray mouse asleep in the hay",
            ],
        ),
        sense(
            "a part of a computer",
            [
                "clicked with the mouse of a new computer",
                "moved the mouse and looked at the screen",
                "fixed the cable of a computer mouse",
            ],
        ),
    ),
    word(
        "pen",
        sense(
            "a thing to write with",
            [
                "wrote a poem with a blue pen",
                "filled a pen with black ink",
                "wrote on paper with a borrowed pen",
            ],
        ),
        sense(
            "a place for animals",
            [
                "chased the pigs back into their pen",
                "fed the sheep in their pen",
                "repaired the wooden pen of the pigs",
            ],
        ),
    ),
    word(
        "star",
        sense(
            "a sun far away",
            [
                "saw the last star in the sky before sunrise",
                "looked through a telescope at a bright star",
                "learned that the sun is a star like those in the night sky",
            ],
        ),
        sense(
            "a famous person",
            [
                "met a film star at the theater",
                "took a picture of a famous star",
                "heard a star of the opera sing at the theater",
            ],
        ),
    ),
    word(
        "fan",
        sense(
            "a thing that cools",
            [
                "switched on the fan because the room was hot",
                "felt the cool air of a fan",
                "put oil into a noisy fan",
            ],
        ),
        sense(
            "a person who admires",
            [
                "cheered like a true fan of the football team",
                "met a fan of the singer",
                "gave a picture of the singer to a happy fan",
            ],
        ),
    ),
    word(
        "chest",
        sense(
            "a part of the body",
            [
                "felt {his} heart beat in {his} chest",
                "coughed until {his} chest hurt",
                "felt a pain in {his} chest",
            ],
        ),
        sense(
            "a big box",
            [
                "opened a chest full of [clothes|treasure]",
                "locked a wooden chest with an iron key",
                "found a chest of gold under the floor",
            ],
        ),
    ),
    word(
        "jam",
        sense(
            "sweet fruit on bread",
            [
                "ate toast with strawberry jam",
                "helped to cook jam from ripe cherries",
                "put cherry jam on a slice of toast",
            ],
        ),
        sense(
            "too many cars on a road",
            [
                "sat in a bus that was stuck in a traffic jam",
                "heard of a jam on the road to the city",
                "was late because of a jam of cars",
            ],
        ),
    ),
];
