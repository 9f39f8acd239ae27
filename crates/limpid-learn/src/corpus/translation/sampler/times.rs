//! When: tenses, and the words of time that go with them.

use super::super::grammar::{Agreement, Negation, Person, Phrase, Tense, phrase};
use super::super::lexicon::*;
use super::Sampler;

impl Sampler {
    /// A tense for a verb, and words of time that go with it (often none).
    pub(in super::super) fn when(
        &mut self,
        verb: &Verb,
        who: &Agreement,
    ) -> (Tense, Option<Phrase>) {
        let tense = self.pick(&[
            Tense::Present,
            Tense::Present,
            Tense::Progressive,
            Tense::Progressive,
            Tense::Past,
            Tense::Past,
            Tense::Past,
            Tense::Future,
            Tense::NearFuture,
            Tense::NearFuture,
            Tense::Imperfect,
        ]);
        let tense = settle(tense, verb, who);
        (tense, self.time(tense, verb))
    }

    /// The same for a clause that may be denied: "does not work on Sundays", but not "every
    /// evening".
    pub(in super::super) fn when_for(
        &mut self,
        verb: &Verb,
        who: &Agreement,
        negation: Negation,
    ) -> (Tense, Option<Phrase>) {
        let (tense, time) = self.when(verb, who);
        let habit =
            negation != Negation::None && tense == Tense::Present && verb.aspect != Aspect::State;
        let days = if self.chance(30) { SEASONS } else { &HABIT_TIMES[4..] };
        (tense, if habit { Some(self.both(days)) } else { time })
    }

    /// Words of time for a tense. A present that is not a habit is said without them, or with
    /// "now".
    pub(in super::super) fn time(&mut self, tense: Tense, verb: &Verb) -> Option<Phrase> {
        let state = verb.aspect == Aspect::State;
        match tense {
            _ if state => None,
            Tense::Present if self.chance(15) => Some(self.both(SEASONS)),
            Tense::Present => Some(self.both(HABIT_TIMES)),
            Tense::Progressive if self.chance(30) && verb.aspect == Aspect::Action => {
                Some(self.both(NOW_TIMES))
            }
            Tense::Past if self.chance(70) => Some(self.past_time()),
            Tense::Future | Tense::NearFuture if self.chance(70) => Some(self.both(FUTURE_TIMES)),
            _ => None,
        }
    }

    /// yesterday, last week, three days ago.
    pub(in super::super) fn past_time(&mut self) -> Phrase {
        if self.chance(75) {
            return self.both(PAST_TIMES);
        }
        let (n, (_, en, _, fr)) = (1 + self.below(9), self.pick(&[SPANS[0], SPANS[1], SPANS[4]]));
        let (en_n, fr_n) = NUMBERS[n];
        phrase(format!("{en_n} {en} ago"), format!("il y a {fr_n} {fr}"))
    }

    /// A clause and its time, before or after it.
    pub(in super::super) fn timed(&mut self, clause: Phrase, time: Option<Phrase>) -> Phrase {
        match time {
            Some(time) if self.chance(35) => time.comma().then(clause),
            Some(time) => clause.then(time),
            None => clause,
        }
    }
}

/// True for "tu" and "nous" forms of the less common verbs.
pub(super) fn rare(verb: &Verb, who: &Agreement) -> bool {
    !verb.common() && matches!(who.column(), 1 | 3 | 4)
}

/// Keeps a tense that the English side can tell: "they read" and "they cut" are both present and
/// past, and an instant does not last.
pub(in super::super) fn settle(tense: Tense, verb: &Verb, who: &Agreement) -> Tense {
    let blurred = verb.past == verb.en && !who.third_singular();
    match (tense, verb.aspect) {
        (Tense::Present | Tense::Past, _) if blurred => Tense::NearFuture,
        // Forms too rare to be learned: give way to ones that are met more often.
        (Tense::Future, Aspect::State) if !["be", "have"].contains(&verb.en) => Tense::Present,
        (Tense::Future, _) if !verb.common() || who.person != Person::Third => Tense::NearFuture,
        (Tense::Imperfect, Aspect::Action) if !verb.common() || who.person != Person::Third => {
            Tense::Past
        }
        (Tense::Present | Tense::Progressive, Aspect::Action | Aspect::Instant)
            if rare(verb, who) =>
        {
            Tense::Past
        }
        (Tense::Imperfect | Tense::Present, Aspect::Instant) => Tense::Past,
        (Tense::Progressive, Aspect::Instant)
            if !["see", "hear", "understand"].contains(&verb.en) =>
        {
            Tense::Past
        }
        _ => tense,
    }
}
