//! Names, adverbs, expressions of time and place, numbers: words that do not inflect.

use super::super::grammar::Gender::{self, Feminine, Masculine};
use super::Both;

/// First names, the same in both languages; none leaves elision in doubt.
pub(in super::super) static NAMES: &[(&str, Gender)] = &[
    ("Marie", Feminine),
    ("Paul", Masculine),
    ("Anne", Feminine),
    ("Pierre", Masculine),
    ("Julie", Feminine),
    ("Louis", Masculine),
    ("Sophie", Feminine),
    ("Thomas", Masculine),
    ("Claire", Feminine),
    ("Nicolas", Masculine),
    ("Alice", Feminine),
    ("Lucas", Masculine),
    ("Emma", Feminine),
    ("Antoine", Masculine),
    ("Sarah", Feminine),
    ("Martin", Masculine),
];

/// Cities: "à Paris" for both in and to.
pub(in super::super) static CITIES: &[Both] = &[
    ("Paris", "Paris"),
    ("London", "Londres"),
    ("Brussels", "Bruxelles"),
    ("Geneva", "Genève"),
    ("Lyon", "Lyon"),
    ("Vienna", "Vienne"),
];

pub(in super::super) static PAST_TIMES: &[Both] = &[
    ("yesterday", "hier"),
    ("yesterday evening", "hier soir"),
    ("last week", "la semaine dernière"),
    ("last month", "le mois dernier"),
    ("last year", "l'année dernière"),
    ("last summer", "l'été dernier"),
    ("last Monday", "lundi dernier"),
    ("last Friday", "vendredi dernier"),
    ("this morning", "ce matin"),
    ("last winter", "l'hiver dernier"),
];

pub(in super::super) static FUTURE_TIMES: &[Both] = &[
    ("tomorrow", "demain"),
    ("tomorrow morning", "demain matin"),
    ("tomorrow evening", "demain soir"),
    ("next week", "la semaine prochaine"),
    ("next month", "le mois prochain"),
    ("next year", "l'année prochaine"),
    ("next Tuesday", "mardi prochain"),
    ("next Saturday", "samedi prochain"),
    ("this evening", "ce soir"),
    ("soon", "bientôt"),
];

pub(in super::super) static HABIT_TIMES: &[Both] = &[
    ("every day", "tous les jours"),
    ("every morning", "tous les matins"),
    ("every evening", "tous les soirs"),
    ("every week", "toutes les semaines"),
    ("on Sundays", "le dimanche"),
    ("on Wednesdays", "le mercredi"),
    ("on Thursdays", "le jeudi"),
];

pub(in super::super) static SEASONS: &[Both] = &[
    ("in winter", "en hiver"),
    ("in summer", "en été"),
    ("in spring", "au printemps"),
    ("in autumn", "en automne"),
];

pub(in super::super) static NOW_TIMES: &[Both] =
    &[("at the moment", "en ce moment"), ("now", "maintenant"), ("today", "aujourd'hui")];

/// Units of time: (English, plural, French, plural).
pub(in super::super) static SPANS: &[(&str, &str, &str, &str)] = &[
    ("day", "days", "jour", "jours"),
    ("week", "weeks", "semaine", "semaines"),
    ("month", "months", "mois", "mois"),
    ("year", "years", "an", "ans"),
    ("hour", "hours", "heure", "heures"),
];

/// Adverbs that stand before the English verb and after the French one.
pub(in super::super) static FREQUENCY: &[Both] = &[
    ("always", "toujours"),
    ("often", "souvent"),
    ("sometimes", "parfois"),
    ("rarely", "rarement"),
];

/// Adverbs of manner at the end of the clause.
pub(in super::super) static MANNERS: &[Both] = &[
    ("slowly", "lentement"),
    ("quickly", "rapidement"),
    ("gently", "doucement"),
    ("carefully", "avec soin"),
    ("silently", "en silence"),
    ("easily", "facilement"),
];

/// "very", "too" and their kind.
pub(in super::super) static INTENSITY: &[Both] =
    &[("very", "très"), ("too", "trop"), ("really", "vraiment"), ("so", "si")];

/// Where one thing is beside another.
pub(in super::super) static POSITIONS: &[Both] = &[
    ("in front of", "devant"),
    ("behind", "derrière"),
    ("near", "près de"),
    ("next to", "à côté de"),
    ("opposite", "en face de"),
];

pub(in super::super) static GAMES: &[Both] = &[
    ("soccer", "le football"),
    ("tennis", "le tennis"),
    ("chess", "les échecs"),
    ("cards", "les cartes"),
    ("basketball", "le basket"),
];

pub(in super::super) static NUMBERS: &[Both] = &[
    ("one", "un"),
    ("two", "deux"),
    ("three", "trois"),
    ("four", "quatre"),
    ("five", "cinq"),
    ("six", "six"),
    ("seven", "sept"),
    ("eight", "huit"),
    ("nine", "neuf"),
    ("ten", "dix"),
    ("eleven", "onze"),
    ("twelve", "douze"),
    ("thirteen", "treize"),
    ("fourteen", "quatorze"),
    ("fifteen", "quinze"),
    ("sixteen", "seize"),
    ("seventeen", "dix-sept"),
    ("eighteen", "dix-huit"),
    ("nineteen", "dix-neuf"),
    ("twenty", "vingt"),
];

/// Function words, listed to be counted; the grammar spells them where it uses them.
static FUNCTION: &[Both] = &[
    ("the", "le"),
    ("a", "un"),
    ("this", "ce"),
    ("my", "mon"),
    ("your", "ton"),
    ("his", "son"),
    ("our", "notre"),
    ("their", "leur"),
    ("I", "je"),
    ("you", "tu"),
    ("he", "il"),
    ("she", "elle"),
    ("we", "nous"),
    ("not", "pas"),
    ("never", "jamais"),
    ("no longer", "plus"),
    ("who", "qui"),
    ("that", "que"),
    ("where", "où"),
    ("whose", "dont"),
    ("when", "quand"),
    ("why", "pourquoi"),
    ("how", "comment"),
    ("and", "et"),
    ("but", "mais"),
    ("because", "parce que"),
    ("if", "si"),
    ("although", "bien que"),
    ("while", "pendant que"),
    ("then", "puis"),
    ("in", "dans"),
    ("on", "sur"),
    ("under", "sous"),
    ("with", "avec"),
    ("without", "sans"),
    ("for", "pour"),
    ("before", "avant"),
    ("after", "après"),
    ("of", "de"),
    ("to", "à"),
    ("several", "plusieurs"),
    ("nobody", "personne"),
    ("anything", "rien"),
    ("here", "ici"),
    ("well", "bien"),
    ("badly", "mal"),
    ("already", "déjà"),
];

/// Every word of this file.
pub(super) fn small_words() -> impl Iterator<Item = Both> {
    let lists = [
        FUNCTION,
        CITIES,
        PAST_TIMES,
        FUTURE_TIMES,
        SEASONS,
        HABIT_TIMES,
        NOW_TIMES,
        FREQUENCY,
        MANNERS,
        INTENSITY,
        POSITIONS,
        GAMES,
        NUMBERS,
    ];
    lists
        .into_iter()
        .flatten()
        .copied()
        .chain(NAMES.iter().map(|&(name, _)| (name, name)))
        .chain(SPANS.iter().map(|&(en, _, fr, _)| (en, fr)))
}
