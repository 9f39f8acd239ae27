//! Plots about courage and contests: a race, a fear, a noise in the dark.

use super::{Ending, Plot};

pub(super) const RACE: Plot = Plot {
    name: "race",
    steps: &[
        &[
            "That week there was a {race} {home.there}, and the prize was {prize.a}.",
            "Then {he} heard of a {race} in which the winner would get {prize.a}.",
            "{home.there} everybody was talking about the {race} and its prize, {prize.a}.",
        ],
        &[
            "{hero} had practised every [morning|evening|day] for [weeks|months].",
            "{hero} wanted to win more than [anything|anybody] else.",
            "{hero} had come last the [year|summer|winter] before.",
        ],
        &[
            "{friend}, who had won [once|twice|often], was going to take part as well.",
            "The one to beat was {friend}.",
            "[Nobody|No one] had ever been faster than {friend}.",
        ],
        &[
            "When {neighbor} gave the sign, the {race} began.",
            "{neighbor} blew a [horn|trumpet], and off they went.",
            "At [noon|nine|ten] {neighbor} counted to [three|five|ten], and everybody started at \
             once.",
        ],
        &[
            "Halfway, {hero} and {friend} were side by side.",
            "{friend} took the lead, but {hero} was close behind.",
            "At first {hero} fell behind, but then {he} caught up with {friend}.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "With a last effort {hero} reached the finish first.",
                    "On the last few meters {hero} passed {friend} and won.",
                ],
                &[
                    "{he} held up the {prize} for all to see.",
                    "Everybody cheered when {hero} got the {prize}, even {friend}.",
                ],
            ],
            summary: "{hero} beat {friend} in the {race} and won {prize.a}.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] {friend} was a little faster in the end.",
                    "At the finish {friend} was ahead by a nose.",
                ],
                &[
                    "{hero} came second and [clapped|smiled|cheered] when {friend} got the \
                     {prize}.",
                    "{hero} was the first to cheer as {friend} took the {prize} home.",
                ],
            ],
            summary: "{hero} came second in the {race}, and {friend} won {prize.a}.",
        },
        Ending {
            steps: &[
                &[
                    "[Suddenly|Just then] {friend} fell and cried out in pain, and {hero} stopped.",
                    "Then {friend} hurt a knee, and {hero} turned around at once.",
                ],
                &[
                    "They finished last, [hand in hand|side by side], and somebody else got the \
                     {prize}.",
                    "Others passed them and took the {prize}, but {hero} did not mind.",
                ],
            ],
            summary: "{hero} gave up {prize.a} in the {race} to help {friend}.",
        },
    ],
};

pub(super) const FEAR: Plot = Plot {
    name: "fear",
    steps: &[
        &[
            "{hero} had only one secret, which was that {he} was afraid of {fear}.",
            "All {his} life {hero} had been afraid of {fear}.",
            "Only {his} {kin} knew that {hero} was afraid of {fear}.",
        ],
        &[
            "That day {friend} asked {him} to {fear.do}.",
            "Then {friend} had the idea to {fear.do}.",
            "Some children wanted to {fear.do}, and {friend} asked {hero} to come along.",
        ],
        &[
            "{hero} turned [pale|white|red] and looked at {his} feet.",
            "{hero} felt {his} heart beat like a drum.",
            "{hero} wanted to say no, but no word came out.",
        ],
        &[
            "{he} tried to think of [a song|something nice|the summer] and took a deep breath.",
            "{he} counted to [ten|twenty] and closed {his} eyes.",
            "For a long time {he} did not move.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "{friend} saw it and took {his} hand.",
                    "{friend} promised to stay at {his} side.",
                ],
                &[
                    "Together they did it, and {hero} even [laughed|smiled|grinned].",
                    "Step by step they managed it, and {hero} was not afraid any more.",
                ],
            ],
            summary: "{hero} was afraid of {fear} but {fear.did} together with {friend}.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] {friend} ran away, and so {hero} had to do it alone.",
                    "In the end it was {friend} who gave up, and {hero} who did it alone.",
                ],
                &[
                    "It was not half as bad as {he} had thought.",
                    "When it was over, {his} knees were [weak|soft], but {his} head was high.",
                ],
            ],
            summary: "{hero} was afraid of {fear} but {fear.did} alone because {friend} gave up.",
        },
        Ending {
            steps: &[
                &[
                    "[At last|Finally] {he} shook {his} head and went home.",
                    "It was no use, and {he} told {friend} the truth.",
                ],
                &[
                    "{friend} did not laugh, and they agreed to try again next [year|week|summer].",
                    "It turned out that {friend} was just as afraid.",
                ],
            ],
            summary: "{hero} was too afraid of {fear} to {fear.do}, and {friend} understood.",
        },
    ],
};

pub(super) const NOISE: Plot = Plot {
    name: "noise",
    steps: &[
        &[
            "That evening {he} heard a [strange|faint|loud] noise in the {room}.",
            "When it got dark, a [strange|faint|loud] noise came from the {room}.",
            "Something was moving in the {room}, and {hero} could not sleep.",
        ],
        &[
            "{he} went to get {friend}, who was not afraid of anything.",
            "{friend}, who was staying for the night, had heard it too.",
            "{he} knocked on the wall until {friend} woke up.",
        ],
        &[
            "{hero} took a {lamp}, and {friend} took a [broom|shovel|stick].",
            "With a {lamp} in {his} hand, {hero} went first.",
            "They had only one {lamp}, and {hero} held it high.",
        ],
        &[
            "Step by step they came closer to the {room}.",
            "The door of the {room} creaked when they pushed it open.",
            "In the {room} it was as [black|dark] as [coal|night].",
        ],
        &[
            "The {lamp} almost went out in the wind.",
            "The {lamp} threw [long|strange|black] shadows on the wall.",
            "{friend} held {friend.his} breath and pointed at something.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "Two [round|yellow|bright] eyes looked at them, and they belonged to \
                     {animal.a}.",
                    "It was only {animal.a} that had lost its way.",
                ],
                &[
                    "They gave the {animal} some [bread|water] and left the door open.",
                    "{hero} stroked the {animal} and laughed with relief.",
                ],
            ],
            summary: "{hero} and {friend} heard a noise in the {room} and found {animal.a}.",
        },
        Ending {
            steps: &[
                &[
                    "Behind a [curtain|barrel|door] stood {his} {kin} with {gift.a}.",
                    "There sat {his} {kin}, who was hiding {gift.a}.",
                ],
                &[
                    "The {gift} was meant for {hero}, and now it was no longer a surprise.",
                    "{kin.he} blushed and gave {hero} the {gift} a [day|week|month] too early.",
                ],
            ],
            summary: "{hero} and {friend} heard a noise in the {room}, where {his} {kin} was \
                      hiding {gift.a}.",
        },
        Ending {
            steps: &[
                &[
                    "A window was open, and the wind had blown down {toy.a}.",
                    "It was the wind, which pushed {toy.a} across the floor.",
                ],
                &[
                    "{hero} shut the window, and then it was quiet.",
                    "{hero} picked up the {toy} and they went back to bed.",
                ],
            ],
            summary: "{hero} and {friend} heard a noise in the {room}, but it was only the wind \
                      and {toy.a}.",
        },
    ],
};
