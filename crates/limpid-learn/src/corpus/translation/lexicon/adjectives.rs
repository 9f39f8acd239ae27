//! Adjectives, with the nouns they suit.

use super::classes::*;
use super::{Adjective, Degree, Position};
use Degree::{Absolute, Long, Short};
use Position::{After, Before, Predicate};

const fn a(
    en: &'static str,
    fr: &'static str,
    position: Position,
    degree: Degree,
    suits: Class,
) -> Adjective {
    Adjective { en, fr, position, degree, suits }
}

/// Things one can call big, small or new.
const SIZED: Class = OBJECT | FURNITURE | VEHICLE | CONTAINER | HOME | BUILT | SIGHT | MACHINE;
/// What comes in colors.
const COLORED: Class = CLOTHES | SHUT | VEHICLE | FURNITURE | FRAGILE;
/// People said by name, trade or kinship.
const ANYONE: Class = HUMAN | CHILD;

pub(in super::super) static ADJECTIVES: &[Adjective] = &[
    // Before the French noun.
    a("small", "petit", Before, Short, SIZED | ANIMAL | COUNTRY_SIDE | ROOM | AT | PLANT),
    a("big", "grand", Before, Short, SIZED | COUNTRY_SIDE | ROOM | PLANT | AT),
    a("fat", "gros", Before, Short, ANIMAL),
    a("beautiful", "beau", Before, Long, CLOTHES | VIEW | SIGHT | ROOM | HOME | PLANT | BIRD),
    a("pretty", "joli", Before, Short, CLOTHES | ROOM | PLANT | VIEW),
    a("good", "bon", Before, Short, FOOD | DISH | DRINK | READ | MUSIC | THOUGHT | STORY),
    a("bad", "mauvais", Before, Short, EVENT | THOUGHT),
    a(
        "old",
        "vieux",
        Before,
        Short,
        PERSON | ANIMAL | OBJECT | CLOTHES | FURNITURE | VEHICLE | BUILT | READ,
    ),
    a("young", "jeune", Before, Short, PERSON | ANIMAL),
    a(
        "new",
        "nouveau",
        Before,
        Absolute,
        CLOTHES | VEHICLE | READ | MACHINE | TOOL | MUSIC | PERSON | FURNITURE,
    ),
    a("long", "long", Before, Short, EVENT | READ | STORY),
    // Colors.
    a("red", "rouge", After, Absolute, COLORED | FRUIT),
    a("blue", "bleu", After, Absolute, COLORED),
    a("green", "vert", After, Absolute, COLORED),
    a("yellow", "jaune", After, Absolute, COLORED | PLANT),
    a("black", "noir", After, Absolute, COLORED | ANIMAL),
    a("white", "blanc", After, Absolute, COLORED | ANIMAL),
    a("gray", "gris", After, Absolute, COLORED | ANIMAL),
    a("brown", "brun", After, Absolute, CLOTHES | FURNITURE | ANIMAL),
    a("purple", "violet", After, Absolute, CLOTHES),
    // People.
    a("happy", "heureux", Predicate, Short, ANYONE),
    a("sad", "triste", After, Short, ANYONE | STORY | MUSIC),
    a("tired", "fatigué", Predicate, Long, ANYONE),
    a("sick", "malade", After, Absolute, ANYONE | ANIMAL),
    a("rich", "riche", After, Short, PERSON),
    a("strong", "fort", After, Short, PERSON | ANIMAL),
    a("weak", "faible", Predicate, Short, ANYONE),
    a("tall", "grand", Predicate, Short, HUMAN),
    a("intelligent", "intelligent", After, Long, ANYONE | ANIMAL),
    a("kind", "gentil", After, Short, HUMAN),
    a("shy", "timide", After, Short, ANYONE | ANIMAL),
    a("brave", "courageux", After, Short, HUMAN),
    a("lazy", "paresseux", After, Short, HUMAN | ANIMAL),
    a("calm", "calme", After, Short, ANYONE | ANIMAL | SIGHT),
    a("serious", "sérieux", After, Long, HUMAN),
    a("funny", "drôle", After, Short, HUMAN | STORY),
    a("polite", "poli", After, Long, HUMAN),
    a("famous", "célèbre", After, Long, PERSON | SIGHT),
    a("curious", "curieux", After, Long, HUMAN | ANIMAL),
    a("jealous", "jaloux", Predicate, Long, HUMAN),
    a("nervous", "nerveux", Predicate, Long, HUMAN),
    a("proud", "fier", Predicate, Long, HUMAN),
    a("honest", "honnête", After, Long, HUMAN),
    a("generous", "généreux", After, Long, HUMAN),
    a("patient", "patient", After, Long, HUMAN),
    a("worried", "inquiet", Predicate, Long, HUMAN),
    a("surprised", "surpris", Predicate, Absolute, HUMAN),
    a("ready", "prêt", Predicate, Absolute, HUMAN),
    a("busy", "occupé", Predicate, Absolute, HUMAN),
    a("alone", "seul", Predicate, Absolute, HUMAN),
    a("late", "en retard", Predicate, Absolute, HUMAN | RIDE),
    a("angry", "en colère", Predicate, Absolute, HUMAN),
    a("faithful", "fidèle", After, Long, ANIMAL),
    a("wild", "sauvage", After, Absolute, ANIMAL),
    a("dangerous", "dangereux", After, Long, PREDATOR | BROAD),
    // Things.
    a("expensive", "cher", After, Long, CLOTHES | VEHICLE | TOOL | GIFT | FURNITURE),
    a("heavy", "lourd", After, Short, CONTAINER | FURNITURE),
    a("light", "léger", After, Short, CLOTHES | CONTAINER),
    a("clean", "propre", After, Short, CLOTHES | ROOM | WASHED),
    a("dirty", "sale", After, Short, CLOTHES | ROOM | WASHED),
    a("empty", "vide", After, Absolute, CONTAINER | RIDE),
    a("full", "plein", After, Absolute, CONTAINER),
    a("broken", "cassé", Predicate, Absolute, FRAGILE | MACHINE),
    a("open", "ouvert", Predicate, Absolute, OPENED),
    a("closed", "fermé", Predicate, Absolute, OPENED | AT),
    a("hot", "chaud", After, Short, DRINK | DISH),
    a("cold", "froid", After, Short, DRINK | DISH),
    a("fresh", "frais", After, Short, FRUIT | FOOD),
    a("sweet", "sucré", After, Absolute, FRUIT | DRINK),
    a("ripe", "mûr", After, Absolute, FRUIT),
    a("delicious", "délicieux", After, Absolute, FOOD | DISH | DRINK),
    a("excellent", "excellent", After, Absolute, FOOD | DRINK | READ | MUSIC),
    a("dry", "sec", After, Absolute, CLOTHES),
    a("wet", "mouillé", After, Absolute, CLOTHES),
    a("soft", "doux", After, Short, CLOTHES | MUSIC),
    a("wide", "large", After, Short, BROAD),
    a("deep", "profond", After, Short, DEEP),
    a("high", "haut", Predicate, Short, BUILT),
    a("low", "bas", Predicate, Short, FURNITURE),
    a("fast", "rapide", After, Short, VEHICLE),
    a("slow", "lent", After, Short, RIDE | ANIMAL),
    a("useful", "utile", After, Long, TOOL | THOUGHT | READ),
    a("interesting", "intéressant", After, Long, READ | SIGHT | EVENT | THOUGHT | STORY),
    a("boring", "ennuyeux", After, Long, READ | EVENT),
    a("difficult", "difficile", After, Long, THOUGHT | STUDY | EVENT),
    a("easy", "facile", After, Short, THOUGHT | STUDY),
    a("important", "important", After, Long, THOUGHT | EVENT | WRITTEN),
    a("strange", "étrange", After, Long, THOUGHT | STORY | SOUND),
    a("quiet", "tranquille", After, Short, SIGHT | CROSSED | COUNTRY_SIDE | HOME),
    a("modern", "moderne", After, Long, TOOL | BUILT | AT | MACHINE),
    a("comfortable", "confortable", After, Long, FURNITURE | HOME | CLOTHES),
    a("elegant", "élégant", After, Long, CLOTHES),
    a("magnificent", "magnifique", After, Absolute, VIEW | SIGHT),
    a("solid", "solide", After, Long, FURNITURE | CONTAINER | MADE),
    a("precious", "précieux", After, Long, GIFT),
    a("wooden", "en bois", After, Absolute, MADE),
];
