//! Plots about deeds: an animal is saved, a cake is baked, a relative is visited in bad weather.

use super::{Ending, Plot};

pub(super) const RESCUE: Plot = Plot {
    name: "rescue",
    steps: &[
        &[
            "On the path {he} heard a [soft|sad|strange] cry.",
            "Behind the [mill|church|school] a [soft|sad|strange] sound made {him} stop.",
            "While {he} walked home, {he} heard something [whimper|move] nearby.",
        ],
        &[
            "{animal.a} was stuck {trap}.",
            "{he} looked around and [saw|noticed|spotted] {animal.a} that was caught {trap}.",
            "There, {trap}, sat a [frightened|tiny|wet] {animal}.",
        ],
        &[
            "{he} stretched out {his} arms, but the {animal} was too far away.",
            "{he} tried again and again, but {he} could not reach the {animal}.",
            "The {animal} trembled and did not let {him} come near.",
        ],
        &[
            "So {he} called {friend}, who came running with {tool.a}.",
            "[Luckily|Fortunately] {friend} was on the way home with {tool.a}.",
            "{he} [ran|hurried|rushed] to {friend}, who had {tool.a} at home.",
        ],
        &[
            "With the {tool} they [slowly|carefully|gently] got the {animal} out.",
            "Thanks to the {tool}, the {animal} was soon free.",
            "It took a long time, but the {tool} did the trick and the {animal} was safe.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "[Nobody|No one] was looking for the {animal}, so {hero} took it home.",
                    "The {animal} followed {hero} home and would not leave.",
                ],
                &[
                    "It got a [warm bed|soft bed|bowl of milk] in the kitchen and stayed forever.",
                    "From that day on it slept in {his} room.",
                ],
            ],
            summary: "{hero} and {friend} saved {animal.a} with {tool.a}, and {hero} kept it.",
        },
        Ending {
            steps: &[
                &[
                    "The {animal} belonged to {neighbor}, who had looked for it everywhere.",
                    "They soon learned that {neighbor} had lost the {animal} that morning.",
                ],
                &[
                    "When {hero} and {friend} brought it back, they got [hot chocolate|a big hug].",
                    "{hero} and {friend} [carried|brought|took] it home and would not take any \
                     money.",
                ],
            ],
            summary: "{hero} and {friend} saved {animal.a} with {tool.a} and took it back to \
                      {neighbor}.",
        },
        Ending {
            steps: &[
                &[
                    "For a [moment|second|minute] the {animal} looked at them, and then it ran \
                     back to its mother.",
                    "The mother of the {animal} was already waiting behind a [tree|bush|hill].",
                ],
                &[
                    "{hero} and {friend} watched them go.",
                    "{hero} and {friend} were glad that the family was together again.",
                ],
            ],
            summary: "{hero} and {friend} saved {animal.a} with {tool.a}, and it went back to its \
                      mother.",
        },
    ],
};

pub(super) const CAKE: Plot = Plot {
    name: "cake",
    steps: &[
        &[
            "[In the afternoon|At noon|Before supper] {he} wanted to bake {dish.a} for {his} \
             {kin}.",
            "It was the birthday of {his} {kin}, and {hero} decided to bake {dish.a}.",
            "Because {his} {kin} was ill in bed, {hero} [began|started] to bake {dish.a}.",
        ],
        &[
            "{he} washed {his} hands and read the recipe twice.",
            "{he} tied on an apron and took out the [biggest|best|oldest] bowl.",
            "{he} had never done it alone before.",
        ],
        &[
            "But there was no {item} in the house.",
            "But when {he} needed {item}, {he} found only an empty jar.",
            "Then {he} saw that {he} had run out of {item}.",
        ],
        &[
            "{hero} knocked at the door of {neighbor}, who gave {him} some {item}.",
            "So {he} [ran|hurried|rushed] to {neighbor} and borrowed some {item}.",
            "[Luckily|Fortunately] {neighbor} had enough {item} for the two of them.",
        ],
        &[
            "[Soon|Before long] the {dish} was in the oven.",
            "An hour later the whole house smelled of {dish}.",
            "{he} stirred, tasted, and put the {dish} into the oven.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "It was [golden|perfect], and {his} {kin} ate [two|three|four] pieces.",
                    "{his} {kin} took one bite and asked for more.",
                ],
                &[
                    "{hero} had never been so [proud|happy].",
                    "Only crumbs were left, and {hero} was [glad|happy|relieved].",
                ],
            ],
            summary: "With {item} from {neighbor}, {hero} baked {dish.a} that {his} {kin} enjoyed.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] {hero} fell asleep, and the {dish} burned.",
                    "[But|Yet] {hero} forgot the time, and [black|thick|gray] smoke came out of \
                     the oven.",
                ],
                &[
                    "{his} {kin} only [laughed|smiled|grinned], and they ate bread and butter.",
                    "{his} {kin} opened the windows and said that the thought was what counted.",
                ],
            ],
            summary: "With {item} from {neighbor}, {hero} baked {dish.a} for {his} {kin}, but it \
                      burned.",
        },
        Ending {
            steps: &[
                &[
                    "[But|Yet] while it cooled on the window sill, {thief.a} came and ate it.",
                    "[But|Yet] {thief.a} smelled it, put its head through the window and ate \
                     everything.",
                ],
                &[
                    "{hero} chased the {thief} down the [road|hill|street] in vain.",
                    "{his} {kin} laughed about the clever {thief} until {kin.he} cried.",
                ],
            ],
            summary: "With {item} from {neighbor}, {hero} baked {dish.a} for {his} {kin}, but \
                      {thief.a} ate it.",
        },
    ],
};

pub(super) const VISIT: Plot = Plot {
    name: "visit",
    steps: &[
        &[
            "[In the afternoon|At noon|Before supper] {he} set out to bring {his} {kin} {cargo.a}.",
            "{his} {kin} lived on the other side of the hill, and {hero} wanted to bring {kin.him} \
             {cargo.a}.",
            "{he} packed {cargo.a} and started on the [long|lonely|steep] walk to {his} {kin}.",
        ],
        &[
            "Halfway there, the sky turned [dark|black|gray].",
            "At first the sun was shining, but then clouds came up.",
            "{he} sang on the road and did not look at the clouds.",
        ],
        &[
            "All at once there was a [terrible|violent|sudden] {weather}.",
            "[Soon|Before long] {he} was in the middle of a [terrible|violent|sudden] {weather}.",
            "Then a [terrible|violent|sudden] {weather} came over the fields.",
        ],
        &[
            "{hero} ran as fast as {he} could to {shelter.a}.",
            "{hero} was lucky to find {shelter.a}.",
            "Not far away {hero} [saw|noticed|spotted] {shelter.a} and [ran|hurried|rushed] \
             inside.",
        ],
        &[
            "The wind [howled|roared|whistled], but it was dry in the {shelter}.",
            "In the {shelter} {he} shook the water from {his} coat.",
            "{he} sat in a corner of the {shelter} and waited.",
        ],
    ],
    endings: [
        Ending {
            steps: &[
                &[
                    "After [an hour|two hours|a while] the {weather} was over, and {hero} walked \
                     on.",
                    "When the {weather} had passed, {hero} picked up the {cargo} and went on.",
                ],
                &[
                    "{his} {kin} made [tea|coffee|soup], and they shared the {cargo}.",
                    "{his} {kin} was [glad|happy|relieved] to see {him} and put the {cargo} on the \
                     table.",
                ],
            ],
            summary: "{hero} waited in {shelter.a} until the {weather} was over and brought {his} \
                      {kin} {cargo.a}.",
        },
        Ending {
            steps: &[
                &[
                    "Then a [cart|wagon] stopped outside, and {neighbor} called {hero} in.",
                    "Before long {neighbor} came by with a [cart|wagon] and two \
                     [strong|brown|white] horses.",
                ],
                &[
                    "So {hero} reached {his} {kin} in time, and the {cargo} was safe.",
                    "{hero} held the {cargo} on {his} knees all the way to {his} {kin}.",
                ],
            ],
            summary: "{hero} hid from a {weather} in {shelter.a}, and {neighbor} took {him} to \
                      {his} {kin}.",
        },
        Ending {
            steps: &[
                &[
                    "The {weather} did not stop, so {hero} had to stay there all night.",
                    "It went on until the morning, and {hero} slept on the floor.",
                ],
                &[
                    "{he} got so hungry that {he} emptied the {cargo} alone.",
                    "There {he} met {friend}, and together they emptied the {cargo}.",
                ],
                &[
                    "{his} {kin} forgave {him} [at once|in the end].",
                    "{he} came to {his} {kin} with empty hands, and nobody was angry.",
                ],
            ],
            summary: "{hero} spent the night in {shelter.a} because of a {weather} and came to \
                      {his} {kin} with empty hands.",
        },
    ],
};
