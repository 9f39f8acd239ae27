//! Laws of the corpus, and sentences a speaker of either language would write.

use std::collections::{BTreeMap, BTreeSet};

use super::grammar::{Agreement, Gender, Negation, Number, Person, Tense, phrase};
use super::lexicon::{ADJECTIVES, Noun, Verb, all_verbs, nouns};
use super::noun_phrase::{Determiner, Np, noun_phrase};
use super::predicate::{Predicate, Reflexive};
use super::*;

fn noun(en: &str) -> &'static Noun {
    nouns().find(|noun| noun.en == en).expect("the noun is in the table")
}

fn verb(en: &str, fr: &str) -> &'static Verb {
    all_verbs().find(|verb| verb.en == en && verb.fr == fr).expect("the verb is in the table")
}

fn np(en: &str, number: Number, determiner: Determiner, adjectives: &[&str]) -> Np {
    let find =
        |en: &&str| ADJECTIVES.iter().find(|a| a.en == *en).expect("the adjective is in the table");
    noun_phrase(noun(en), number, determiner, &adjectives.iter().map(find).collect::<Vec<_>>())
}

const I: Agreement = Agreement::human(Person::First, Number::Singular, Gender::Masculine);
const SHE: Agreement = Agreement::human(Person::Third, Number::Singular, Gender::Feminine);
const THEY: Agreement = Agreement::human(Person::Third, Number::Plural, Gender::Feminine);

#[test]
fn noun_phrases_agree_in_both_languages() {
    use Determiner::{A, Count, No, Of, The, This};
    use Number::{Plural, Singular};
    for (np, english, french) in [
        (np("tree", Singular, A, &["beautiful"]), "A beautiful tree", "Un bel arbre"),
        (np("tree", Plural, A, &["beautiful"]), "Some beautiful trees", "De beaux arbres"),
        (
            np("house", Singular, The, &["big", "quiet"]),
            "The big quiet house",
            "La grande maison tranquille",
        ),
        (np("car", Plural, This, &["blue"]), "These blue cars", "Ces voitures bleues"),
        (np("man", Singular, This, &["old"]), "This old man", "Ce vieil homme"),
        (np("man", Singular, This, &[]), "This man", "Cet homme"),
        (np("owl", Singular, The, &[]), "The owl", "Le hibou"),
        (np("school", Singular, Of(I), &[]), "My school", "Mon école"),
        (np("school", Singular, Of(SHE), &["big"]), "Her big school", "Sa grande école"),
        (np("shoe", Plural, Of(THEY), &["wet"]), "Their wet shoes", "Leurs chaussures mouillées"),
        (np("bread", Singular, A, &["fresh"]), "Some fresh bread", "Du pain frais"),
        (np("water", Singular, A, &[]), "Some water", "De l'eau"),
        (np("egg", Plural, A, &[]), "Some eggs", "Des œufs"),
        (np("apple", Plural, No, &[]), "Any apples", "De pommes"),
        (np("egg", Singular, No, &[]), "An egg", "D'œuf"),
        (np("eye", Plural, Count(2), &[]), "Two eyes", "Deux yeux"),
        (np("newspaper", Plural, The, &["new"]), "The new newspapers", "Les nouveaux journaux"),
        (
            np("winter coat", Plural, A, &["black"]),
            "Some black winter coats",
            "Des manteaux d'hiver noirs",
        ),
        (np("computer", Singular, A, &["new"]), "A new computer", "Un nouvel ordinateur"),
        (np("knife", Plural, The, &[]), "The knives", "Les couteaux"),
    ] {
        assert_eq!(english::sentence(&np.text.en), english);
        assert_eq!(french::sentence(&np.text.fr), french);
    }
}

#[test]
fn clauses_say_the_same_in_both_languages() {
    use Negation::{Anyone, Anything, Never, NoLonger, None, Not, Only};
    let they = np("letter", Number::Plural, Determiner::The, &[]).who;
    let seen = |mut predicate: Predicate| {
        predicate.preceding = Some(they);
        predicate
    };
    let p = |en, fr| Predicate::new(verb(en, fr));
    let hands = {
        let mut hands = Predicate::new(&lexicon::WASH_SELF).with(("her hands", "les mains"));
        hands.reflexive = Reflexive::Indirect;
        hands
    };
    let it = || p("read", "lire").pronoun(they.object());
    for (predicate, who, tense, negation, english, french) in [
        (p("eat", "manger"), I, Tense::Past, None, "I ate", "J'ai mangé"),
        (p("eat", "manger"), I, Tense::Past, Not, "I did not eat", "Je n'ai pas mangé"),
        (p("eat", "manger"), SHE, Tense::Imperfect, None, "She was eating", "Elle mangeait"),
        (p("eat", "manger"), SHE, Tense::Present, Never, "She never eats", "Elle ne mange jamais"),
        (
            p("eat", "manger"),
            SHE,
            Tense::Present,
            NoLonger,
            "She no longer eats",
            "Elle ne mange plus",
        ),
        (
            p("eat", "manger"),
            SHE,
            Tense::Past,
            Anything,
            "She did not eat anything",
            "Elle n'a rien mangé",
        ),
        (
            p("see", "voir"),
            SHE,
            Tense::Past,
            Anyone,
            "She did not see anyone",
            "Elle n'a vu personne",
        ),
        (
            p("eat", "manger").with(("bread", "_du pain")),
            I,
            Tense::Past,
            Only,
            "I ate only bread",
            "Je n'ai mangé que du pain",
        ),
        (p("leave", "partir"), THEY, Tense::Past, None, "They left", "Elles sont parties"),
        (
            p("get up", "se lever"),
            SHE,
            Tense::Past,
            Not,
            "She did not get up",
            "Elle ne s'est pas levée",
        ),
        (
            p("get up", "se lever"),
            I,
            Tense::NearFuture,
            None,
            "I am going to get up",
            "Je vais me lever",
        ),
        (hands, SHE, Tense::Past, None, "She washed her hands", "Elle s'est lavé les mains"),
        (it(), I, Tense::Present, None, "I read them", "Je les lis"),
        (seen(it()), I, Tense::Past, Not, "I did not read them", "Je ne les ai pas lues"),
        (it(), I, Tense::NearFuture, Not, "I am not going to read them", "Je ne vais pas les lire"),
        (p("know", "savoir"), SHE, Tense::Past, None, "She knew", "Elle savait"),
        (
            p("be hungry", "avoir faim"),
            THEY,
            Tense::Past,
            None,
            "They were hungry",
            "Elles avaient faim",
        ),
        (p("come", "venir"), SHE, Tense::Future, Not, "She will not come", "Elle ne viendra pas"),
        (p("come", "venir"), SHE, Tense::Pluperfect, None, "She had come", "Elle était venue"),
        (
            p("come", "venir"),
            THEY,
            Tense::JustDone,
            None,
            "They have just come",
            "Elles viennent de venir",
        ),
        (p("sell", "vendre"), I, Tense::Conditional, None, "I would sell", "Je vendrais"),
        (
            p("can", "pouvoir").with(("swim", "nager")),
            SHE,
            Tense::Present,
            Not,
            "She cannot swim",
            "Elle ne peut pas nager",
        ),
        (
            p("eat", "manger").middle(("often", "souvent")),
            I,
            Tense::Present,
            None,
            "I often eat",
            "Je mange souvent",
        ),
        (p("be", "être"), SHE, Tense::Subjunctive, None, "She is", "Elle soit"),
    ] {
        let clause = predicate.clause(&who.pronoun(), &who, tense, negation);
        assert_eq!(english::sentence(&clause.en), english);
        assert_eq!(french::sentence(&clause.fr), french);
    }
    let question = p("eat", "manger").question(
        phrase("when", "quand"),
        &SHE.pronoun(),
        &SHE,
        Tense::Past,
        None,
    );
    assert_eq!(english::sentence(&question.en), "When did she eat");
    assert_eq!(french::sentence(&question.fr), "Quand est-ce qu'elle a mangé");
}

#[test]
fn there_are_four_hundred_lemmas_a_side_and_thirty_constructions() {
    let (english, french) = lemma_counts();
    assert!(english >= 400 && french >= 400, "{english} English, {french} French");
    assert!(CONSTRUCTIONS.len() >= 30);
    assert_eq!(CONSTRUCTIONS.iter().collect::<BTreeSet<_>>().len(), CONSTRUCTIONS.len());
}

/// A look at many pairs, drawn once per test.
fn many(n: u64) -> impl Iterator<Item = Pair> {
    (0..n).map(|i| pair(1, i))
}

#[test]
fn every_construction_appears_and_sentences_have_three_to_sixty_words() {
    let mut seen = BTreeSet::new();
    let mut longest = 0;
    for pair in many(20_000) {
        seen.insert(pair.construction);
        let words = [&pair.english, &pair.french].map(|text| text.split_whitespace().count());
        let least = if pair.construction == FIXED { 1 } else { 3 };
        assert!(words.iter().all(|n| (least..=60).contains(n)), "{pair:?}");
        longest = longest.max(words[0].min(words[1]));
    }
    assert_eq!(seen, CONSTRUCTIONS.iter().copied().collect());
    assert!(longest > 40, "the longest has {longest} words");
}

#[test]
fn the_notes_sentences_are_there_with_and_without_a_full_stop() {
    let seen: BTreeSet<(String, String)> =
        many(20_000).map(|pair| (pair.english, pair.french)).collect();
    for (english, french) in [("I am a student", "Je suis étudiant"), ("Thanks", "Merci")] {
        for stop in ["", "."] {
            assert!(seen.contains(&(format!("{english}{stop}"), format!("{french}{stop}"))));
        }
    }
}

#[test]
fn a_sentence_hardly_ever_has_two_translations() {
    let (mut to_french, mut to_english) = (BTreeMap::new(), BTreeMap::new());
    for pair in many(50_000) {
        to_french
            .entry(pair.english.clone())
            .or_insert_with(BTreeSet::new)
            .insert(pair.french.clone());
        to_english.entry(pair.french).or_insert_with(BTreeSet::new).insert(pair.english);
    }
    let share = |map: &BTreeMap<String, BTreeSet<String>>| {
        map.values().filter(|others| others.len() > 1).count() as f64 / map.len() as f64
    };
    assert!(share(&to_english) < 0.005, "French: {}", share(&to_english));
    assert!(share(&to_french) < 0.01, "English: {}", share(&to_french));
}

#[test]
fn french_elides_and_contracts_everywhere() {
    const ASPIRATE: [&str; 5] = ["hibou", "haricot", "hérisson", "haut", "huit"];
    let open = |word: &str| {
        let vowel = word.starts_with(|c: char| "aeiouâéèêîôœh".contains(c));
        vowel && word != "onze" && !ASPIRATE.iter().any(|h| word.starts_with(h))
    };
    for pair in many(20_000) {
        let text = pair.french.to_lowercase().replace(['.', ',', '?', '!'], " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        for two in words.windows(2) {
            let elided =
                ["le", "la", "de", "je", "ne", "que", "me", "te", "se", "ce", "ma", "ta", "sa"];
            assert!(!(elided.contains(&two[0]) && open(two[1])), "{two:?} in {}", pair.french);
            assert!(!matches!(two, ["si", "il" | "ils"]), "{two:?} in {}", pair.french);
            assert!(
                !matches!(two, ["de" | "à", "les"]) || infinitive_follows(&words, two),
                "{two:?} in {}",
                pair.french
            );
            assert!(
                !matches!(two, ["de" | "à", "le"]) || infinitive_follows(&words, two),
                "{two:?} in {}",
                pair.french
            );
        }
    }
}

/// "de le voir": the pronoun, before an infinitive.
fn infinitive_follows(words: &[&str], two: &[&str]) -> bool {
    let next = words.windows(3).find(|three| three[..2] == *two).map_or("", |three| three[2]);
    ["er", "ir", "re"].iter().any(|end| next.ends_with(end))
}

#[test]
fn sentences_are_well_formed_on_the_page() {
    for pair in many(20_000) {
        for text in [&pair.english, &pair.french] {
            assert!(text.chars().next().is_some_and(char::is_uppercase), "{text}");
            assert!(!text.contains("  ") && !text.contains(" ,") && !text.contains('_'), "{text}");
            assert!(
                text.ends_with(['.', '?', '!']) || text.ends_with(char::is_alphanumeric),
                "{text}"
            );
            assert!(!text.contains([';', '\t', '\n']), "{text}");
        }
        assert_eq!(pair.english.ends_with('?'), pair.french.ends_with('?'), "{pair:?}");
    }
}

#[test]
fn splits_share_no_sentence_and_repeat_none() {
    let corpus = generate(5_000, 3);
    assert_eq!([corpus.train.len(), corpus.validation.len(), corpus.test.len()], [5_000, 500, 500]);
    let side = |pairs: &[Pair], text: fn(&Pair) -> &str| {
        pairs
            .iter()
            .map(|pair| text(pair).trim_end_matches('.').to_owned())
            .collect::<BTreeSet<_>>()
    };
    for text in [(|pair| &pair.english) as fn(&Pair) -> &str, |pair| &pair.french] {
        let sets = [&corpus.train, &corpus.validation, &corpus.test].map(|pairs| side(pairs, text));
        assert!(
            sets[0].is_disjoint(&sets[1])
                && sets[0].is_disjoint(&sets[2])
                && sets[1].is_disjoint(&sets[2])
        );
        assert_eq!([sets[1].len(), sets[2].len()], [500, 500]);
        let ordinary: Vec<Pair> =
            corpus.train.iter().filter(|pair| pair.construction != FIXED).cloned().collect();
        assert_eq!(side(&ordinary, text).len(), ordinary.len());
    }
}

#[test]
fn the_same_seed_gives_the_same_corpus_and_small_ones_have_all_three_parts() {
    assert_eq!(generate(300, 1), generate(300, 1));
    assert_ne!(generate(300, 1).train, generate(300, 2).train);
    let tiny = generate(3, 1);
    assert_eq!([tiny.train.len(), tiny.validation.len(), tiny.test.len()], [3, 1, 1]);
}

#[test]
fn every_noun_has_an_adjective_and_every_verb_an_object() {
    use lexicon::{BODY, TRANSITIVE, WEATHER};
    for noun in nouns().filter(|noun| !noun.is(BODY | WEATHER)) {
        let suits = ADJECTIVES.iter().filter(|a| a.suits & noun.class != 0).count();
        assert!(suits > 0, "{} has no adjective", noun.en);
    }
    for verb in TRANSITIVE {
        assert!(nouns().any(|noun| noun.is(verb.object)), "{}", verb.en);
    }
}

#[test]
fn the_clock_says_the_same_hour_in_both_languages() {
    const HOURS: [(&str, &str); 11] = [
        ("one", "une heure"),
        ("two", "deux heures"),
        ("three", "trois heures"),
        ("four", "quatre heures"),
        ("five", "cinq heures"),
        ("six", "six heures"),
        ("seven", "sept heures"),
        ("eight", "huit heures"),
        ("nine", "neuf heures"),
        ("ten", "dix heures"),
        ("eleven", "onze heures"),
    ];
    let mut seen = BTreeSet::new();
    for pair in many(50_000) {
        let [english, french] = [&pair.english, &pair.french]
            .map(|text| format!(" {} ", text.replace(['.', ',', '?', '!'], " ")));
        for (en, fr) in HOURS {
            for (said, written) in [
                (format!(" a quarter to {en} "), format!(" {fr} moins le quart ")),
                (format!(" a quarter past {en} "), format!(" {fr} et quart ")),
                (format!(" half past {en} "), format!(" {fr} et demie ")),
                (format!(" {en} o'clock "), format!(" {fr} ")),
            ] {
                if english.contains(&said) {
                    assert!(french.contains(&written), "{pair:?}");
                    seen.insert(said);
                }
            }
        }
    }
    assert!(seen.contains(" a quarter to six "), "{seen:?}");
}

#[test]
fn de_is_said_once_before_a_noun() {
    for pair in many(50_000) {
        let text = format!(" {}", pair.french.to_lowercase());
        for twice in [" de de ", " de d'", " de du ", " de des "] {
            assert!(!text.contains(twice), "{}", pair.french);
        }
    }
}

#[test]
fn de_is_said_again_before_the_second_noun() {
    let mut seen = 0;
    for pair in many(50_000).filter(|pair| pair.construction == "coordination") {
        let after = ["about ", "need ", "needs ", "needed "]
            .iter()
            .filter(|word| word.starts_with("need") || pair.english.contains("dream"))
            .find_map(|word| pair.english.split_once(word));
        let (Some(objects), Some((_, french))) = (after, pair.french.rsplit_once(" et ")) else {
            continue;
        };
        if objects.1.contains(" and ") {
            assert!(
                ["de ", "d'", "du ", "des "].iter().any(|de| french.starts_with(de)),
                "{pair:?}"
            );
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn beau_nouveau_and_vieux_change_before_a_vowel() {
    let open: BTreeSet<&str> = nouns()
        .filter(|n| n.gender == Gender::Masculine && french::elides(n.fr))
        .map(|n| n.fr)
        .collect();
    let mut seen = BTreeSet::new();
    for pair in many(50_000) {
        let text = pair.french.to_lowercase().replace(['.', ',', '?', '!'], " ");
        let words: Vec<&str> = text.split_whitespace().collect();
        for two in words.windows(2).filter(|two| open.contains(two[1])) {
            assert!(!["beau", "nouveau", "vieux"].contains(&two[0]), "{}", pair.french);
        }
        for three in words.windows(3).filter(|three| three[0] == "plus" && open.contains(three[2]))
        {
            seen.insert(format!("{} {}", three[1], three[2]));
        }
    }
    assert!(seen.contains("bel arbre") && seen.contains("vieil hôtel"), "{seen:?}");
}
