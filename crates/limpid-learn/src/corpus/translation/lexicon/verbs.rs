//! Verbs, with the subjects and objects they go with.

use super::classes::*;
use super::{Aspect, Aux, Verb};
use Aspect::{Action, Instant, State};
use Aux::{Avoir, Etre};

const fn v(
    en: &'static str,
    past: &'static str,
    done: &'static str,
    fr: &'static str,
    subject: Class,
    object: Class,
) -> Verb {
    Verb { en, past, done, fr, subject, object, aux: Avoir, aspect: Action }
}

/// A verb without duration.
const fn i(
    en: &'static str,
    past: &'static str,
    done: &'static str,
    fr: &'static str,
    subject: Class,
    object: Class,
) -> Verb {
    Verb { aspect: Instant, ..v(en, past, done, fr, subject, object) }
}

/// A verb of motion or change, with être.
const fn e(
    en: &'static str,
    past: &'static str,
    done: &'static str,
    fr: &'static str,
    subject: Class,
) -> Verb {
    Verb { en, past, done, fr, subject, object: 0, aux: Etre, aspect: Action }
}

/// A verb of state.
const fn s(
    en: &'static str,
    past: &'static str,
    done: &'static str,
    fr: &'static str,
    object: Class,
) -> Verb {
    Verb { en, past, done, fr, subject: HUMAN, object, aux: Avoir, aspect: State }
}

/// What shops sell.
const GOODS: Class = FOOD | DRINK | CLOTHES | BOOK | FURNITURE | VEHICLE | GIFT | TOOL;

/// Verbs with a direct object.
pub(in super::super) static TRANSITIVE: &[Verb] = &[
    v("eat", "ate", "eaten", "manger", HUMAN, FOOD),
    v("drink", "drank", "drunk", "boire", HUMAN, DRINK),
    v("buy", "bought", "bought", "acheter", HUMAN, GOODS),
    v("sell", "sold", "sold", "vendre", HUMAN, GOODS),
    v("prepare", "prepared", "prepared", "préparer", HUMAN, DISH),
    v("taste", "tasted", "tasted", "goûter", HUMAN, DISH | DRINK),
    v("read", "read", "read", "lire", HUMAN, READ),
    v("write", "wrote", "written", "écrire", HUMAN, WRITTEN),
    i("see", "saw", "seen", "voir", HUMAN | ANIMAL, HUMAN | ANIMAL | VIEW | VEHICLE),
    v("watch", "watched", "watched", "regarder", HUMAN, ANIMAL | VIEW | CHILD),
    v("look for", "looked", "looked", "chercher", HUMAN, THING | TAME),
    i("find", "found", "found", "trouver", HUMAN, THING | TAME),
    i("lose", "lost", "lost", "perdre", HUMAN, OBJECT | CLOTHES),
    i("forget", "forgot", "forgotten", "oublier", HUMAN, OBJECT | CLOTHES | THOUGHT),
    v("hide", "hid", "hidden", "cacher", HUMAN, OBJECT | READ),
    i("break", "broke", "broken", "casser", HUMAN, FRAGILE),
    v("repair", "repaired", "repaired", "réparer", HUMAN, MACHINE),
    v("wash", "washed", "washed", "laver", HUMAN, WASHED),
    v("clean", "cleaned", "cleaned", "nettoyer", HUMAN, ROOM),
    v("open", "opened", "opened", "ouvrir", HUMAN, OPENED),
    v("close", "closed", "closed", "fermer", HUMAN, SHUT),
    v("paint", "painted", "painted", "peindre", HUMAN, ROOM | MADE),
    v("build", "built", "built", "construire", HUMAN, CONSTRUCTED),
    v("visit", "visited", "visited", "visiter", HUMAN, SIGHT),
    v("cross", "crossed", "crossed", "traverser", HUMAN | ANIMAL, CROSSED),
    i("meet", "met", "met", "rencontrer", HUMAN, PERSON),
    v("invite", "invited", "invited", "inviter", HUMAN, HUMAN),
    v("help", "helped", "helped", "aider", HUMAN, HUMAN),
    v("thank", "thanked", "thanked", "remercier", HUMAN, HUMAN),
    v("follow", "followed", "followed", "suivre", HUMAN | ANIMAL, PERSON | ANIMAL),
    v("wait for", "waited", "waited", "attendre", HUMAN, HUMAN | RIDE),
    v("listen to", "listened", "listened", "écouter", HUMAN, MUSIC | HUMAN),
    i("hear", "heard", "heard", "entendre", HUMAN | ANIMAL, SOUND),
    i("understand", "understood", "understood", "comprendre", HUMAN, THOUGHT),
    v("explain", "explained", "explained", "expliquer", HUMAN, THOUGHT),
    v("learn", "learned", "learned", "apprendre", HUMAN, STUDY),
    v("tell", "told", "told", "raconter", HUMAN, STORY),
    v("take", "took", "taken", "prendre", HUMAN, RIDE | OBJECT),
    v("wear", "wore", "worn", "porter", HUMAN, CLOTHES),
    v("choose", "chose", "chosen", "choisir", HUMAN, CLOTHES | GIFT | BOOK | FURNITURE),
    i("catch", "caught", "caught", "attraper", HUMAN | PREDATOR, PREY),
    v("feed", "fed", "fed", "nourrir", HUMAN, TAME),
    i("receive", "received", "received", "recevoir", HUMAN, MAIL | GIFT),
    v("draw", "drew", "drawn", "dessiner", HUMAN, ANIMAL | VIEW),
    v("cut", "cut", "cut", "couper", HUMAN, FRUIT | SLICED),
    v("steal", "stole", "stolen", "voler", HUMAN, OBJECT | VEHICLE),
    v("chase", "chased", "chased", "poursuivre", PREDATOR, PREY),
    v("protect", "protected", "protected", "protéger", HUMAN, CHILD | ANIMAL),
    v("bring", "brought", "brought", "apporter", HUMAN, GIFT | READ | DISH),
    i("keep", "kept", "kept", "garder", HUMAN, THING | TAME),
    v("organize", "organized", "organized", "organiser", HUMAN, ARRANGED),
    v("finish", "finished", "finished", "finir", HUMAN, READ | DISH | STUDY),
    s("admire", "admired", "admired", "admirer", HUMAN | VIEW),
    s("know", "knew", "known", "connaître", PERSON | SIGHT | STORY),
    s("own", "owned", "owned", "posséder", VEHICLE | HOME | TAME),
    s("need", "needed", "needed", "avoir besoin de", THING | TOOL | DRINK),
    s("dream about", "dreamed", "dreamed", "rêver de", SIGHT | ANIMAL),
];

/// Verbs whose object is a kind of thing: "aimer le pain", "like bread".
pub(in super::super) static TASTE: &[Verb] = &[
    s("like", "liked", "liked", "aimer", FOOD | DRINK | ANIMAL | MUSIC | PLANT),
    s("love", "loved", "loved", "adorer", FOOD | DRINK | ANIMAL | MUSIC | PLANT),
    s("hate", "hated", "hated", "détester", FOOD | DRINK | ANIMAL | EVENT),
    s("prefer", "preferred", "preferred", "préférer", FOOD | DRINK | ANIMAL),
];

/// Verbs that hand something to someone: "donner le livre à Marie".
pub(in super::super) static GIVING: &[Verb] = &[
    v("give", "gave", "given", "donner", HUMAN, GIFT | OBJECT | FRUIT),
    v("show", "showed", "shown", "montrer", HUMAN, GIFT | THING | VIEW),
    v("send", "sent", "sent", "envoyer", HUMAN, MAIL | GIFT),
    v("lend", "lent", "lent", "prêter", HUMAN, OBJECT | BOOK | VEHICLE | CLOTHES),
    v("offer", "offered", "offered", "offrir", HUMAN, GIFT | DRINK),
    v("return", "returned", "returned", "rendre", HUMAN, OBJECT | BOOK),
    v("recommend", "recommended", "recommended", "recommander", HUMAN, BOOK | DISH | SIGHT),
    v("teach", "taught", "taught", "enseigner", HUMAN, STUDY),
];

/// Verbs without an object.
pub(in super::super) static INTRANSITIVE: &[Verb] = &[
    v("sleep", "slept", "slept", "dormir", HUMAN | ANIMAL | CHILD, 0),
    v("work", "worked", "worked", "travailler", HUMAN, 0),
    v("swim", "swam", "swum", "nager", HUMAN | ANIMAL, 0),
    v("run", "ran", "run", "courir", HUMAN | ANIMAL, 0),
    v("walk", "walked", "walked", "marcher", HUMAN | ANIMAL, 0),
    v("laugh", "laughed", "laughed", "rire", HUMAN | CHILD, 0),
    v("smile", "smiled", "smiled", "sourire", HUMAN | CHILD, 0),
    v("cry", "cried", "cried", "pleurer", HUMAN | CHILD, 0),
    v("dance", "danced", "danced", "danser", HUMAN, 0),
    v("sing", "sang", "sung", "chanter", HUMAN, 0),
    v("speak", "spoke", "spoken", "parler", HUMAN, 0),
    v("travel", "traveled", "traveled", "voyager", HUMAN, 0),
    v("eat", "ate", "eaten", "manger", HUMAN | ANIMAL, 0),
    v("jump", "jumped", "jumped", "sauter", ANIMAL | CHILD, 0),
    v("play", "played", "played", "jouer", CHILD | ANIMAL, 0),
    v("fly", "flew", "flown", "voler", BIRD, 0),
];

/// Verbs of motion and change: être in the passé composé.
pub(in super::super) static MOTION: &[Verb] = &[
    e("arrive", "arrived", "arrived", "arriver", HUMAN | RIDE),
    e("leave", "left", "left", "partir", HUMAN | RIDE),
    e("come", "came", "come", "venir", HUMAN),
    e("come back", "came", "come", "revenir", HUMAN | ANIMAL),
    e("go out", "went", "gone", "sortir", HUMAN | ANIMAL),
    e("go home", "went", "gone", "rentrer", HUMAN),
    e("fall", "fell", "fallen", "tomber", HUMAN | ANIMAL),
    e("stay", "stayed", "stayed", "rester", HUMAN | ANIMAL),
];

/// Reflexive in French only.
pub(in super::super) static REFLEXIVE: &[Verb] = &[
    e("get up", "got", "gotten", "se lever", HUMAN),
    e("wake up", "woke", "woken", "se réveiller", HUMAN | ANIMAL),
    e("go to bed", "went", "gone", "se coucher", HUMAN),
    e("get dressed", "got", "gotten", "se habiller", HUMAN),
    e("hurry", "hurried", "hurried", "se dépêcher", HUMAN),
    e("have fun", "had", "had", "se amuser", HUMAN),
    e("rest", "rested", "rested", "se reposer", HUMAN | ANIMAL),
    e("go for a walk", "went", "gone", "se promener", HUMAN),
    e("sit down", "sat", "sat", "se asseoir", HUMAN),
    e("get angry", "got", "gotten", "se fâcher", HUMAN),
    e("get bored", "got", "gotten", "se ennuyer", HUMAN),
    e("make a mistake", "made", "made", "se tromper", HUMAN),
    e("stop", "stopped", "stopped", "se arrêter", HUMAN | VEHICLE | ANIMAL),
    e("hide", "hid", "hidden", "se cacher", ANIMAL),
];

/// "Be" in English, "avoir" in French.
pub(in super::super) static IDIOMS: &[Verb] = &[
    s("be hungry", "was", "been", "avoir faim", 0),
    s("be thirsty", "was", "been", "avoir soif", 0),
    s("be cold", "was", "been", "avoir froid", 0),
    s("be hot", "was", "been", "avoir chaud", 0),
    s("be sleepy", "was", "been", "avoir sommeil", 0),
    s("be right", "was", "been", "avoir raison", 0),
    s("be wrong", "was", "been", "avoir tort", 0),
    s("be lucky", "was", "been", "avoir de la chance", 0),
    s("be afraid", "was", "been", "avoir peur", 0),
];

/// Verbs followed by an infinitive.
pub(in super::super) static MODAL: &[Verb] = &[
    s("want to", "wanted", "wanted", "vouloir", 0),
    s("can", "could", "", "pouvoir", 0),
    s("must", "had to", "", "devoir", 0),
    s("hope to", "hoped", "hoped", "espérer", 0),
    s("know how to", "knew", "known", "savoir", 0),
    v("try to", "tried", "tried", "essayer de", HUMAN, 0),
    i("begin to", "began", "begun", "commencer à", HUMAN, 0),
    v("continue to", "continued", "continued", "continuer à", HUMAN, 0),
    i("decide to", "decided", "decided", "décider de", HUMAN, 0),
    i("refuse to", "refused", "refused", "refuser de", HUMAN, 0),
];

/// Verbs followed by "que": Paul says that ….
pub(in super::super) static SAYING: &[Verb] = &[
    s("think", "thought", "thought", "penser", 0),
    s("believe", "believed", "believed", "croire", 0),
    s("know", "knew", "known", "savoir", 0),
    s("hope", "hoped", "hoped", "espérer", 0),
    v("say", "said", "said", "dire", HUMAN, 0),
];

pub(in super::super) static BE: Verb = s("be", "was", "been", "être", 0);
pub(in super::super) static HAVE: Verb = s("have", "had", "had", "avoir", 0);
pub(in super::super) static LIVE: Verb = s("live", "lived", "lived", "habiter", 0);
pub(in super::super) static WANT: Verb = s("want", "wanted", "wanted", "vouloir", 0);
pub(in super::super) static WANT_TO: Verb = s("want to", "wanted", "wanted", "vouloir", 0);
pub(in super::super) static BECOME: Verb = e("become", "became", "become", "devenir", HUMAN);
pub(in super::super) static AGE: Verb = s("be", "was", "been", "avoir", 0);
pub(in super::super) static CALLED: Verb = e("be called", "was", "been", "se appeler", HUMAN);
pub(in super::super) static CALL_PLAIN: Verb =
    v("call", "called", "called", "téléphoner", HUMAN, 0);
pub(in super::super) static NEED_PLAIN: Verb = s("need", "needed", "needed", "avoir besoin", 0);
/// Into a place, onto and off a train.
pub(in super::super) static ENTER: Verb = e("go into", "went", "gone", "entrer dans", HUMAN);
pub(in super::super) static BOARD: Verb = e("get on", "got", "gotten", "monter dans", HUMAN);
pub(in super::super) static ALIGHT: Verb = e("get off", "got", "gotten", "descendre de", HUMAN);
pub(in super::super) static GO: Verb = e("go", "went", "gone", "aller", HUMAN);
pub(in super::super) static PLAY_MUSIC: Verb =
    v("play", "played", "played", "jouer de", HUMAN, INSTRUMENT);
pub(in super::super) static PLAY_GAME: Verb = v("play", "played", "played", "jouer à", HUMAN, 0);
pub(in super::super) static WASH_SELF: Verb = e("wash", "washed", "washed", "se laver", HUMAN);
pub(in super::super) static ASK: Verb = v("ask", "asked", "asked", "poser", HUMAN, 0);
pub(in super::super) static CALL: Verb =
    v("call", "called", "called", "téléphoner à", HUMAN, HUMAN);
pub(in super::super) static ANSWER: Verb =
    v("answer", "answered", "answered", "répondre à", HUMAN, HUMAN);
pub(in super::super) static REMEMBER: Verb =
    Verb { aspect: State, ..e("remember", "remembered", "remembered", "se souvenir de", HUMAN) };
pub(in super::super) static SHINE: Verb = v("shine", "shone", "shone", "briller", WEATHER, 0);
pub(in super::super) static GROW: Verb = v("grow", "grew", "grown", "pousser", PLANT, 0);
pub(in super::super) static START: Verb = v("start", "started", "started", "commencer", EVENT, 0);
pub(in super::super) static END: Verb = v("end", "ended", "ended", "se terminer", EVENT, 0);

/// Verbs said in every tense. The others keep to the present, the passé composé and the infinitive,
/// so that no form is too rare to be learned.
static COMMON: &[&str] = &[
    "eat",
    "drink",
    "buy",
    "sell",
    "read",
    "write",
    "see",
    "look for",
    "find",
    "open",
    "close",
    "wash",
    "repair",
    "prepare",
    "visit",
    "help",
    "wait for",
    "listen to",
    "take",
    "learn",
    "choose",
    "sleep",
    "work",
    "play",
    "dance",
    "sing",
    "travel",
    "arrive",
    "leave",
    "come",
    "come back",
    "go out",
    "go home",
    "stay",
    "go",
    "give",
    "show",
    "send",
    "get up",
    "rest",
    "be",
    "have",
    "watch",
    "clean",
    "cook",
];

impl Verb {
    /// True for verbs said in every tense.
    pub(in super::super) fn common(&self) -> bool {
        self.aspect == State || COMMON.contains(&self.en)
    }
}

/// Every verb of this file.
pub(in super::super) fn all_verbs() -> impl Iterator<Item = &'static Verb> {
    let single: [&Verb; 19] = [
        &ENTER,
        &BOARD,
        &ALIGHT,
        &BECOME,
        &BE,
        &HAVE,
        &LIVE,
        &WANT,
        &GO,
        &PLAY_MUSIC,
        &WASH_SELF,
        &ASK,
        &CALL,
        &ANSWER,
        &REMEMBER,
        &SHINE,
        &GROW,
        &START,
        &END,
    ];
    [TRANSITIVE, TASTE, GIVING, INTRANSITIVE, MOTION, REFLEXIVE, IDIOMS, MODAL, SAYING]
        .into_iter()
        .flatten()
        .chain(single)
}
