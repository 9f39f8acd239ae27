//! Plots about things: lost, swapped, quarrelled over, bought.

use super::{Ending, Plot};

pub(super) const LOST: Plot = Plot {
    name: "lost",
    steps: &[
        &[
            "[In the afternoon|At noon|Before supper] {he} wanted to play with {his} {toy}, but it \
             was gone.",
            "Later {he} looked for {his} {toy} and could not find it.",
            "When {he} came home, {his} {toy} was missing.",
            "After lunch {hero} noticed that {his} {toy} had disappeared.",
        ],
        &[
            "First {he} looked {first}, but there was only [dust|an old shoe|a sleeping cat].",
            "{he} searched {first} and found nothing but [dust|an old shoe|a sleeping cat].",
            "It was not {first}, and {he} [began|started] to [worry|cry].",
        ],
        &[
            "Then {friend} came by and offered to help.",
            "{hero} asked {friend} for help.",
            "{friend}, who lived next door, joined the search.",
        ],
        &[
            "Together they turned the whole house upside down.",
            "They opened every [drawer|box|bag] and looked into every [corner|cupboard|pocket].",
            "They searched for [an hour|two hours] without a word.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "[At last|Finally] {friend} found the {toy} {spot}.",
                    "In the end the {toy} was {spot}, where {friend} discovered it.",
                    "[Suddenly|Just then] {friend} gave a shout, for there, {spot}, lay the {toy}.",
                ],
                &[
                    "{hero} [hugged|thanked] {friend} and they played until [dark|supper|bedtime].",
                    "{hero} was so happy that {he} let {friend} play with it first.",
                ],
            ],
            summary: "{hero} lost {his} {toy}, and {friend} found it for {him} {spot}.",
        },
        Ending {
            steps: &[
                &[
                    "{friend} had to go home, but {hero} went on, and at last {he} \
                     [saw|noticed|spotted] the {toy} {spot}.",
                    "When {friend} was gone, {hero} sat down, looked around and \
                     [saw|noticed|spotted] the {toy} {spot}.",
                ],
                &[
                    "{he} [laughed|smiled|grinned], because {he} had put it there {himself}.",
                    "{he} had walked past it all day long.",
                ],
            ],
            summary: "{hero} lost {his} {toy} and found it {himself} {spot}.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] the {toy} never turned up again.",
                    "They did not find the {toy}, neither that day nor later.",
                ],
                &[
                    "So {friend} gave {hero} {other.a} to make up for it.",
                    "The next [day|morning] {friend} came back and brought {hero} {other.a}.",
                ],
                &[
                    "{hero} took the {other} and soon felt [better|happy again].",
                    "The {other} was even better, {hero} thought.",
                ],
            ],
            summary: "{hero} lost {his} {toy}, and {friend} gave {him} {other.a} instead.",
        },
    ],
};

pub(super) const SWAP: Plot = Plot {
    name: "swap",
    steps: &[
        &[
            "At that time {hero} had {toy.a}, and {friend} had {other.a}.",
            "{hero} owned {toy.a}, but {he} liked the {other} of {friend} much more.",
            "{friend} had {other.a}, and {hero}, who had only {toy.a}, dreamed of it.",
        ],
        &[
            "In the yard {hero} asked whether {friend} wanted to swap.",
            "So {hero} offered {friend} a swap.",
            "In the park {hero} and {friend} talked about a swap.",
        ],
        &[
            "{friend} thought for a [while|moment|minute] and said yes.",
            "{friend} did not have to think twice.",
            "They shook hands on it.",
        ],
        &[
            "{hero} carried the {other} home, and {friend} went off with the {toy}.",
            "The {toy} went to {friend}, and {hero} [ran|hurried|rushed] home with the {other}.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "They were both [happy|pleased] with what they had got.",
                    "Neither of them was ever sorry about it.",
                ],
                &[
                    "{hero} took the {other} everywhere.",
                    "From then on, {hero} and the {other} were never apart.",
                ],
            ],
            summary: "{hero} swapped {his} {toy} for the {other} of {friend}, and both were happy.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] soon {hero} missed the {toy} and could not sleep.",
                    "At home the {other} seemed dull, and {hero} wanted the {toy} back.",
                ],
                &[
                    "The next [day|morning] {friend} [laughed|smiled|grinned] and swapped back.",
                    "{friend} understood, and in the morning they swapped again.",
                ],
            ],
            summary: "{hero} swapped {his} {toy} for the {other} of {friend}, but then they \
                      swapped back.",
        },
        Ending {
            steps: &[
                &[
                    "On the way the {other} fell into a river and was gone.",
                    "The very same day {hero} left the {other} in a bus, and it was gone.",
                ],
                &[
                    "{hero} was sad, but a swap is a swap.",
                    "{hero} learned to look twice before {he} made a swap.",
                ],
            ],
            summary: "{hero} swapped {his} {toy} for the {other} of {friend}, but soon lost it.",
        },
    ],
};

pub(super) const QUARREL: Plot = Plot {
    name: "quarrel",
    steps: &[
        &[
            "On the way to the park {hero} and {friend} found {toy.a} in the [grass|sand|leaves].",
            "In the park {hero} and {friend} both [saw|noticed|spotted] {toy.a} that nobody owned.",
            "{hero} and {friend} got {toy.a} from {neighbor} for the two of them.",
        ],
        &[
            "{hero} wanted it, and {friend} wanted it too.",
            "Each of them wanted to have the {toy} alone.",
            "Both of them reached for the {toy} at once.",
        ],
        &[
            "They shouted and pulled until both were red in the face.",
            "They called each other names and stamped their feet.",
            "[Soon|Before long] everyone could hear them quarrel.",
        ],
        &[
            "Then the {kin} of {hero} came and asked what the noise was about.",
            "The {kin} of {hero} heard it all and sat down with them.",
            "It was so loud that the {kin} of {hero} came out of the house.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "{kin.he} told them to take turns, one day each.",
                    "{kin.he} asked them to have it day by day, first the one and then the other.",
                ],
                &[
                    "So {friend} had the {toy} on Monday and {hero} on Tuesday.",
                    "{hero} and {friend} tried it, and the {toy} went back and forth.",
                ],
            ],
            summary: "{hero} and {friend} quarrelled over {toy.a}, and {his} {kin} made them take \
                      turns.",
        },
        Ending {
            steps: &[
                &[
                    "{kin.he} said that the baby next door had no [toys|friends] at all.",
                    "{kin.he} told them of a [sick|poor|lonely] child who had nothing to play \
                     with.",
                ],
                &[
                    "{hero} and {friend} looked at each other and gave the {toy} away.",
                    "The same day {hero} and {friend} left the {toy} at that door.",
                ],
            ],
            summary: "{hero} and {friend} quarrelled over {toy.a} and then gave it to a child.",
        },
        Ending {
            steps: &[
                &[
                    "{kin.he} took the {toy} away, and now nobody had it.",
                    "{kin.he} did not say a word and locked the {toy} in [a cupboard|a drawer|the \
                     cellar].",
                ],
                &[
                    "{hero} and {friend} had to laugh, and soon they were friends again.",
                    "Without it there was no reason to quarrel, so {hero} and {friend} made peace.",
                ],
            ],
            summary: "{hero} and {friend} quarrelled over {toy.a} until {his} {kin} took it away.",
        },
    ],
};

pub(super) const PRESENT: Plot = Plot {
    name: "present",
    steps: &[
        &[
            "In a shop {he} [saw|noticed|spotted] {gift.a} that {his} {kin} would [love|like].",
            "{he} wanted to give {his} {kin} {gift.a} from the shop on the corner.",
            "The birthday of {his} {kin} was near, and in a shop stood {gift.a}.",
        ],
        &[
            "[But|Yet] {hero} had only [two|three|four] coins, and the {gift} was [expensive|not \
             cheap].",
            "The {gift} cost more than {hero} had in {his} pocket.",
            "{hero} counted {his} coins, and they were not enough for the {gift}.",
        ],
        &[
            "So {he} asked {neighbor} for work.",
            "{he} knew that {neighbor} needed help.",
            "That was when {neighbor} offered {him} a job.",
        ],
        &[
            "For a whole [week|month] {hero} {job.did} every day before supper.",
            "Every afternoon {hero} had to {job}, and {he} never complained.",
            "It was hard to {job}, but {hero} did not give up.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "Then {hero} [ran|hurried|rushed] to the shop and came out with the {gift} \
                     under {his} arm.",
                    "With the money {hero} bought the {gift} at last.",
                ],
                &[
                    "{his} {kin} had tears of [joy|happiness].",
                    "The {kin} of {hero} could hardly believe it.",
                ],
            ],
            summary: "{hero} {job.did} for {neighbor} and bought {gift.a} for {his} {kin}.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] when {hero} came back to the shop, the {gift} was sold.",
                    "[But|Yet] somebody else had bought the {gift} the day before.",
                ],
                &[
                    "So {hero} made {craft.a} with {his} own hands, and {his} {kin} liked it even \
                     more.",
                    "{hero} sat down and made {craft.a} for {his} {kin} instead.",
                ],
            ],
            summary: "{hero} could not buy the {gift} and made {craft.a} for {his} {kin}.",
        },
        Ending {
            steps: &[
                &[
                    "On the way to the shop {hero} met {friend}, who had lost all {friend.his} \
                     money.",
                    "Then {hero} heard that {friend} had no money for {friend.his} medicine.",
                ],
                &[
                    "{hero} gave away every coin, and the {gift} stayed in the shop.",
                    "Without a word {hero} handed over the coins and forgot the {gift}.",
                ],
                &[
                    "{his} {kin} was proud of {him}.",
                    "{his} {kin} said that this was the best gift of all.",
                ],
            ],
            summary: "{hero} worked to buy {gift.a} for {his} {kin} but gave the money to \
                      {friend}.",
        },
    ],
};
