//! Conjugation: three regular groups, their spelling changes, and the irregular verbs by family.

/// The simple tenses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Mood {
    Present,
    Imperfect,
    Future,
    Conditional,
    Subjunctive,
}

/// An irregular family: any verb that ends so. Present (je tu il nous vous ils), participle, future
/// stem.
struct Family {
    ending: &'static str,
    present: [&'static str; 6],
    participle: &'static str,
    future: &'static str,
}

const fn family(
    ending: &'static str,
    present: [&'static str; 6],
    participle: &'static str,
    future: &'static str,
) -> Family {
    Family { ending, present, participle, future }
}

/// The first whose ending fits wins, so savoir stands before avoir, and écrire before rire.
#[rustfmt::skip]
static FAMILIES: &[Family] = &[
    family("être", ["suis", "es", "est", "sommes", "êtes", "sont"], "été", "ser"),
    family("savoir", ["sais", "sais", "sait", "savons", "savez", "savent"], "su", "saur"),
    family("avoir", ["ai", "as", "a", "avons", "avez", "ont"], "eu", "aur"),
    family("aller", ["vais", "vas", "va", "allons", "allez", "vont"], "allé", "ir"),
    family("faire", ["fais", "fais", "fait", "faisons", "faites", "font"], "fait", "fer"),
    family("venir", ["viens", "viens", "vient", "venons", "venez", "viennent"], "venu", "viendr"),
    family("tenir", ["tiens", "tiens", "tient", "tenons", "tenez", "tiennent"], "tenu", "tiendr"),
    family("prendre",
        ["prends", "prends", "prend", "prenons", "prenez", "prennent"], "pris", "prendr"),
    family("pouvoir", ["peux", "peux", "peut", "pouvons", "pouvez", "peuvent"], "pu", "pourr"),
    family("vouloir", ["veux", "veux", "veut", "voulons", "voulez", "veulent"], "voulu", "voudr"),
    family("devoir", ["dois", "dois", "doit", "devons", "devez", "doivent"], "dû", "devr"),
    family("cevoir", ["çois", "çois", "çoit", "cevons", "cevez", "çoivent"], "çu", "cevr"),
    family("voir", ["vois", "vois", "voit", "voyons", "voyez", "voient"], "vu", "verr"),
    family("boire", ["bois", "bois", "boit", "buvons", "buvez", "boivent"], "bu", "boir"),
    family("croire", ["crois", "crois", "croit", "croyons", "croyez", "croient"], "cru", "croir"),
    family("lire", ["lis", "lis", "lit", "lisons", "lisez", "lisent"], "lu", "lir"),
    family("crire", ["cris", "cris", "crit", "crivons", "crivez", "crivent"], "crit", "crir"),
    family("rire", ["ris", "ris", "rit", "rions", "riez", "rient"], "ri", "rir"),
    family("dire", ["dis", "dis", "dit", "disons", "dites", "disent"], "dit", "dir"),
    family("uire", ["uis", "uis", "uit", "uisons", "uisez", "uisent"], "uit", "uir"),
    family("mettre", ["mets", "mets", "met", "mettons", "mettez", "mettent"], "mis", "mettr"),
    family("connaître",
        ["connais", "connais", "connaît", "connaissons", "connaissez", "connaissent"], "connu",
        "connaîtr"),
    family("suivre", ["suis", "suis", "suit", "suivons", "suivez", "suivent"], "suivi", "suivr"),
    family("dormir", ["dors", "dors", "dort", "dormons", "dormez", "dorment"], "dormi", "dormir"),
    family("partir", ["pars", "pars", "part", "partons", "partez", "partent"], "parti", "partir"),
    family("sortir", ["sors", "sors", "sort", "sortons", "sortez", "sortent"], "sorti", "sortir"),
    family("ouvrir",
        ["ouvre", "ouvres", "ouvre", "ouvrons", "ouvrez", "ouvrent"], "ouvert", "ouvrir"),
    family("offrir",
        ["offre", "offres", "offre", "offrons", "offrez", "offrent"], "offert", "offrir"),
    family("courir", ["cours", "cours", "court", "courons", "courez", "courent"], "couru", "courr"),
    family("eindre", ["eins", "eins", "eint", "eignons", "eignez", "eignent"], "eint", "eindr"),
    family("asseoir",
        ["assieds", "assieds", "assied", "asseyons", "asseyez", "asseyent"], "assis", "assiér"),
    family("envoyer",
        ["envoie", "envoies", "envoie", "envoyons", "envoyez", "envoient"], "envoyé", "enverr"),
];

fn irregular(infinitive: &str) -> Option<(&str, &'static Family)> {
    FAMILIES.iter().find_map(|family| Some((infinitive.strip_suffix(family.ending)?, family)))
}

/// One form; the column counts je tu il nous vous ils from 0.
pub(in super::super) fn conjugate(infinitive: &str, mood: Mood, column: usize) -> String {
    match mood {
        Mood::Present => present(infinitive, column),
        Mood::Imperfect => {
            past_stem(infinitive, column, ["ais", "ais", "ait", "ions", "iez", "aient"])
        }
        Mood::Future => future_stem(infinitive) + ["ai", "as", "a", "ons", "ez", "ont"][column],
        Mood::Conditional => {
            future_stem(infinitive) + ["ais", "ais", "ait", "ions", "iez", "aient"][column]
        }
        Mood::Subjunctive => subjunctive(infinitive, column),
    }
}

fn present(infinitive: &str, column: usize) -> String {
    if let Some((prefix, family)) = irregular(infinitive) {
        return format!("{prefix}{}", family.present[column]);
    }
    if let Some(stem) = infinitive.strip_suffix("er") {
        let ending = ["e", "es", "e", "ons", "ez", "ent"][column];
        return match column {
            3 | 4 => soften(stem, ending) + ending,
            _ => strong_stem(stem) + ending,
        };
    }
    if let Some(stem) = infinitive.strip_suffix("ir") {
        return format!("{stem}{}", ["is", "is", "it", "issons", "issez", "issent"][column]);
    }
    let stem = infinitive.strip_suffix("re").expect("an infinitive ends in -er, -ir or -re");
    format!("{stem}{}", ["s", "s", "", "ons", "ez", "ent"][column])
}

/// mang + ons → mangeons, commenc + ons → commençons: the consonant keeps its sound before a and o.
fn soften(stem: &str, ending: &str) -> String {
    if !ending.starts_with(['a', 'o']) {
        return stem.to_owned();
    }
    match stem.strip_suffix('c') {
        Some(rest) => format!("{rest}ç"),
        None if stem.ends_with('g') => format!("{stem}e"),
        None => stem.to_owned(),
    }
}

/// The stem before a mute e: achèt-, appell-, préfèr-, nettoi-.
fn strong_stem(stem: &str) -> String {
    const DOUBLED: &[&str] = &["appel", "jet", "rappel"];
    if DOUBLED.contains(&stem) {
        let last = &stem[stem.len() - 1..];
        return format!("{stem}{last}");
    }
    if let Some(rest) = stem.strip_suffix('y') {
        return format!("{rest}i");
    }
    // The vowel of the last syllable opens when a single consonant (or gu, qu, ch…) follows it.
    let consonants = stem.chars().rev().take_while(|c| !"aeiouyàâéèêîôû".contains(*c)).count();
    let split = stem.char_indices().rev().nth(consonants).map_or(0, |(i, _)| i);
    let vowel = stem[split..].chars().next().unwrap_or(' ');
    let tail = &stem[split + vowel.len_utf8()..];
    match vowel {
        'é' => format!("{}è{tail}", &stem[..split]),
        'e' if consonants == 1 => format!("{}è{tail}", &stem[..split]),
        _ => stem.to_owned(),
    }
}

fn future_stem(infinitive: &str) -> String {
    if let Some((prefix, family)) = irregular(infinitive) {
        return format!("{prefix}{}", family.future);
    }
    match infinitive.strip_suffix("er") {
        // préférer keeps its é in the future; acheter and appeler change as in the present.
        Some(stem) if stem.contains('é') => infinitive.to_owned(),
        Some(stem) => strong_stem(stem) + "er",
        None => infinitive.strip_suffix('e').unwrap_or(infinitive).to_owned(),
    }
}

/// The stem of nous, with the endings of the imperfect.
fn past_stem(infinitive: &str, column: usize, endings: [&str; 6]) -> String {
    let ending = endings[column];
    if infinitive == "être" {
        return format!("ét{ending}");
    }
    if let (Some(stem), None) = (infinitive.strip_suffix("er"), irregular(infinitive)) {
        return soften(stem, ending) + ending;
    }
    let nous = present(infinitive, 3);
    format!("{}{ending}", nous.strip_suffix("ons").unwrap_or(&nous))
}

fn subjunctive(infinitive: &str, column: usize) -> String {
    #[rustfmt::skip]
    let special: Option<[&str; 6]> = match infinitive {
        "être" => Some(["sois", "sois", "soit", "soyons", "soyez", "soient"]),
        "avoir" => Some(["aie", "aies", "ait", "ayons", "ayez", "aient"]),
        "aller" => Some(["aille", "ailles", "aille", "allions", "alliez", "aillent"]),
        "faire" => Some(["fasse", "fasses", "fasse", "fassions", "fassiez", "fassent"]),
        "pouvoir" => Some(["puisse", "puisses", "puisse", "puissions", "puissiez", "puissent"]),
        "savoir" => Some(["sache", "saches", "sache", "sachions", "sachiez", "sachent"]),
        "vouloir" => Some(["veuille", "veuilles", "veuille", "voulions", "vouliez", "veuillent"]),
        _ => None,
    };
    if let Some(forms) = special {
        return forms[column].to_owned();
    }
    if column == 3 || column == 4 {
        return conjugate(infinitive, Mood::Imperfect, column);
    }
    let ils = present(infinitive, 5);
    let ending = ["e", "es", "e", "", "", "ent"][column];
    format!("{}{ending}", ils.strip_suffix("ent").unwrap_or(&ils))
}

/// The past participle, masculine singular.
pub(in super::super) fn participle(infinitive: &str) -> String {
    if let Some((prefix, family)) = irregular(infinitive) {
        return format!("{prefix}{}", family.participle);
    }
    for (ending, participle) in [("er", "é"), ("ir", "i"), ("re", "u")] {
        if let Some(stem) = infinitive.strip_suffix(ending) {
            return format!("{stem}{participle}");
        }
    }
    infinitive.to_owned()
}

/// The form after "en": en marchant.
pub(in super::super) fn gerund(infinitive: &str) -> String {
    match infinitive {
        "être" => "étant".to_owned(),
        "avoir" => "ayant".to_owned(),
        "savoir" => "sachant".to_owned(),
        _ => {
            let nous = present(infinitive, 3);
            format!("{}ant", nous.strip_suffix("ons").unwrap_or(&nous))
        }
    }
}
