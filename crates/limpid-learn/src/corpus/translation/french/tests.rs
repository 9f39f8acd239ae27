//! What a grammar book says.

use super::super::grammar::{Agreement, Animacy, Gender, Number, Person};
use super::inflection::{before_vowel, feminine};
use super::*;

fn table(infinitive: &str, mood: Mood) -> String {
    (0..6).map(|column| conjugate(infinitive, mood, column)).collect::<Vec<_>>().join(" ")
}

#[test]
fn irregular_verbs_are_conjugated_as_in_the_tables() {
    let present = |verb| table(verb, Mood::Present);
    assert_eq!(present("être"), "suis es est sommes êtes sont");
    assert_eq!(present("avoir"), "ai as a avons avez ont");
    assert_eq!(present("aller"), "vais vas va allons allez vont");
    assert_eq!(present("faire"), "fais fais fait faisons faites font");
    assert_eq!(present("venir"), "viens viens vient venons venez viennent");
    assert_eq!(present("devenir"), "deviens deviens devient devenons devenez deviennent");
    assert_eq!(present("prendre"), "prends prends prend prenons prenez prennent");
    assert_eq!(present("apprendre"), "apprends apprends apprend apprenons apprenez apprennent");
    assert_eq!(present("pouvoir"), "peux peux peut pouvons pouvez peuvent");
    assert_eq!(present("vouloir"), "veux veux veut voulons voulez veulent");
    assert_eq!(present("devoir"), "dois dois doit devons devez doivent");
    assert_eq!(present("savoir"), "sais sais sait savons savez savent");
    assert_eq!(present("voir"), "vois vois voit voyons voyez voient");
    assert_eq!(present("recevoir"), "reçois reçois reçoit recevons recevez reçoivent");
    assert_eq!(present("boire"), "bois bois boit buvons buvez boivent");
    assert_eq!(present("écrire"), "écris écris écrit écrivons écrivez écrivent");
    assert_eq!(present("sourire"), "souris souris sourit sourions souriez sourient");
    assert_eq!(present("connaître"), "connais connais connaît connaissons connaissez connaissent");
    assert_eq!(present("peindre"), "peins peins peint peignons peignez peignent");
    assert_eq!(
        present("construire"),
        "construis construis construit construisons construisez construisent"
    );
    assert_eq!(
        present("poursuivre"),
        "poursuis poursuis poursuit poursuivons poursuivez poursuivent"
    );
    assert_eq!(present("asseoir"), "assieds assieds assied asseyons asseyez asseyent");
}

#[test]
fn regular_verbs_follow_their_group_and_its_spelling() {
    let present = |verb| table(verb, Mood::Present);
    assert_eq!(present("parler"), "parle parles parle parlons parlez parlent");
    assert_eq!(present("finir"), "finis finis finit finissons finissez finissent");
    assert_eq!(present("vendre"), "vends vends vend vendons vendez vendent");
    assert_eq!(present("manger"), "mange manges mange mangeons mangez mangent");
    assert_eq!(present("commencer"), "commence commences commence commençons commencez commencent");
    assert_eq!(present("acheter"), "achète achètes achète achetons achetez achètent");
    assert_eq!(present("appeler"), "appelle appelles appelle appelons appelez appellent");
    assert_eq!(present("jeter"), "jette jettes jette jetons jetez jettent");
    assert_eq!(present("préférer"), "préfère préfères préfère préférons préférez préfèrent");
    assert_eq!(present("posséder"), "possède possèdes possède possédons possédez possèdent");
    assert_eq!(present("protéger"), "protège protèges protège protégeons protégez protègent");
    assert_eq!(present("nettoyer"), "nettoie nettoies nettoie nettoyons nettoyez nettoient");
    assert_eq!(present("promener"), "promène promènes promène promenons promenez promènent");
    assert_eq!(present("chercher"), "cherche cherches cherche cherchons cherchez cherchent");
    assert_eq!(present("rester"), "reste restes reste restons restez restent");
    assert_eq!(present("arrêter"), "arrête arrêtes arrête arrêtons arrêtez arrêtent");
}

#[test]
fn imperfect_future_conditional_and_subjunctive_come_from_the_right_stems() {
    assert_eq!(table("être", Mood::Imperfect), "étais étais était étions étiez étaient");
    assert_eq!(
        table("manger", Mood::Imperfect),
        "mangeais mangeais mangeait mangions mangiez mangeaient"
    );
    assert_eq!(
        table("commencer", Mood::Imperfect),
        "commençais commençais commençait commencions commenciez commençaient"
    );
    assert_eq!(
        table("finir", Mood::Imperfect),
        "finissais finissais finissait finissions finissiez finissaient"
    );
    assert_eq!(table("boire", Mood::Imperfect), "buvais buvais buvait buvions buviez buvaient");
    assert_eq!(table("être", Mood::Future), "serai seras sera serons serez seront");
    assert_eq!(
        table("acheter", Mood::Future),
        "achèterai achèteras achètera achèterons achèterez achèteront"
    );
    for (verb, future) in [
        ("avoir", "aura"),
        ("aller", "ira"),
        ("faire", "fera"),
        ("venir", "viendra"),
        ("voir", "verra"),
        ("envoyer", "enverra"),
        ("pouvoir", "pourra"),
        ("vouloir", "voudra"),
        ("savoir", "saura"),
        ("courir", "courra"),
        ("appeler", "appellera"),
        ("préférer", "préférera"),
        ("nettoyer", "nettoiera"),
        ("prendre", "prendra"),
        ("vendre", "vendra"),
        ("finir", "finira"),
        ("lever", "lèvera"),
    ] {
        assert_eq!(conjugate(verb, Mood::Future, 2), future);
    }
    assert_eq!(conjugate("être", Mood::Conditional, 5), "seraient");
    assert_eq!(conjugate("acheter", Mood::Conditional, 0), "achèterais");
    assert_eq!(table("être", Mood::Subjunctive), "sois sois soit soyons soyez soient");
    assert_eq!(
        table("finir", Mood::Subjunctive),
        "finisse finisses finisse finissions finissiez finissent"
    );
    assert_eq!(table("venir", Mood::Subjunctive), "vienne viennes vienne venions veniez viennent");
    assert_eq!(
        table("prendre", Mood::Subjunctive),
        "prenne prennes prenne prenions preniez prennent"
    );
    assert_eq!(conjugate("aller", Mood::Subjunctive, 2), "aille");
    assert_eq!(conjugate("lire", Mood::Subjunctive, 1), "lises");
}

#[test]
fn participles_and_gerunds() {
    for (verb, past, present) in [
        ("avoir", "eu", "ayant"),
        ("être", "été", "étant"),
        ("manger", "mangé", "mangeant"),
        ("finir", "fini", "finissant"),
        ("vendre", "vendu", "vendant"),
        ("prendre", "pris", "prenant"),
        ("mettre", "mis", "mettant"),
        ("ouvrir", "ouvert", "ouvrant"),
        ("écrire", "écrit", "écrivant"),
        ("lire", "lu", "lisant"),
        ("boire", "bu", "buvant"),
        ("recevoir", "reçu", "recevant"),
        ("construire", "construit", "construisant"),
        ("peindre", "peint", "peignant"),
        ("suivre", "suivi", "suivant"),
        ("courir", "couru", "courant"),
        ("rire", "ri", "riant"),
        ("commencer", "commencé", "commençant"),
        ("asseoir", "assis", "asseyant"),
    ] {
        assert_eq!(participle(verb), past);
        assert_eq!(gerund(verb), present);
    }
}

#[test]
fn nouns_and_adjectives_take_their_plural() {
    for (one, many) in [
        ("livre", "livres"),
        ("journal", "journaux"),
        ("cheval", "chevaux"),
        ("hôpital", "hôpitaux"),
        ("bateau", "bateaux"),
        ("œil", "yeux"),
        ("jeu", "jeux"),
        ("neveu", "neveux"),
        ("genou", "genoux"),
        ("hibou", "hiboux"),
        ("travail", "travaux"),
        ("voix", "voix"),
        ("nez", "nez"),
        ("bras", "bras"),
        ("bleu", "bleus"),
        ("heureux", "heureux"),
        ("beau", "beaux"),
        ("gris", "gris"),
    ] {
        assert_eq!(plural(one), many);
    }
}

#[test]
fn adjectives_take_their_feminine() {
    for (masculine, form) in [
        ("petit", "petite"),
        ("rouge", "rouge"),
        ("heureux", "heureuse"),
        ("blanc", "blanche"),
        ("beau", "belle"),
        ("vieux", "vieille"),
        ("nouveau", "nouvelle"),
        ("bon", "bonne"),
        ("gentil", "gentille"),
        ("long", "longue"),
        ("frais", "fraîche"),
        ("sec", "sèche"),
        ("doux", "douce"),
        ("jaloux", "jalouse"),
        ("inquiet", "inquiète"),
        ("violet", "violette"),
        ("cher", "chère"),
        ("léger", "légère"),
        ("fier", "fière"),
        ("gros", "grosse"),
        ("bas", "basse"),
        ("gris", "grise"),
        ("fatigué", "fatiguée"),
        ("brun", "brune"),
        ("mauvais", "mauvaise"),
    ] {
        assert_eq!(feminine(masculine), form);
    }
    let women = Agreement {
        person: Person::Third,
        number: Number::Plural,
        gender: Gender::Feminine,
        animacy: Animacy::Human,
    };
    assert_eq!(agree("nerveux", &women), "nerveuses");
    assert_eq!(agree("en colère", &women), "en colère");
    assert_eq!(
        [before_vowel("beau"), before_vowel("nouveau"), before_vowel("vieux")],
        ["bel", "nouvel", "vieil"]
    );
}

#[test]
fn words_join_with_elision_and_contraction() {
    for (words, written) in [
        ("je ai le âge de le homme", "J'ai l'âge de l'homme"),
        ("le hibou et le haricot", "Le hibou et le haricot"),
        ("la histoire de le roi", "L'histoire du roi"),
        ("il va à le marché et à les îles", "Il va au marché et aux îles"),
        ("il parle à le ami de les enfants", "Il parle à l'ami des enfants"),
        ("parce que il ne y a pas de eau", "Parce qu'il n'y a pas d'eau"),
        ("si il vient , si elle part", "S'il vient, si elle part"),
        ("ce est _du pain , _dela viande , _du argent", "C'est du pain, de la viande, de l'argent"),
        ("beaucoup de _du pain et de _des amis", "Beaucoup de pain et d'amis"),
        ("elle ne rêvait pas de de oiseaux timides", "Elle ne rêvait pas d'oiseaux timides"),
        ("il a besoin de de vieux verres", "Il a besoin de vieux verres"),
        ("il ne a pas _un chat", "Il n'a pas de chat"),
        ("elle ne rêve pas de _une île", "Elle ne rêve pas d'une île"),
        ("il essaie de _le voir et de _les aider", "Il essaie de le voir et de les aider"),
        ("tu te habilles à onze heures de le soir", "Tu t'habilles à onze heures du soir"),
        ("il y a plus de onze œufs", "Il y a plus de onze œufs"),
    ] {
        assert_eq!(sentence(words), written);
    }
}
