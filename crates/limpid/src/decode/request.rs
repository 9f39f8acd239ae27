//! From what somebody asks for, and what the makers of a model recommend, to one validated value.

use super::filter::Filter;
use super::rules::Rules;
use super::settings::{Beams, Decoding, EarlyStopping, LengthPenalty, Sampling, Strategy};
use crate::error::{Error, Result};
use crate::hub::Generation;
use serde_json::Value;
use std::path::Path;

/// What `transformers` draws from when a file says `do_sample` and nothing about `top_k`.
const THEIR_TOP_K: usize = 50;

/// What somebody asks for; `None` is left to the model's `generation_config.json`, and then to greedy search.
///
/// Asking for a temperature, top-k, top-p, samples or a seed is asking for drawing; asking for more than one beam, for beam search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Temperature; 0 is greedy.
    pub temperature: Option<f32>,
    /// How many tokens take part in a draw.
    pub top_k: Option<usize>,
    /// The probability that takes part in a draw.
    pub top_p: Option<f32>,
    /// How many texts to draw.
    pub samples: Option<usize>,
    /// Seed of the draws.
    pub seed: Option<u64>,
    /// How many texts a beam search follows.
    pub beams: Option<usize>,
    /// The exponent of the length penalty of `transformers`.
    pub length_penalty: Option<f32>,
    /// The exponent of the GNMT length penalty, instead.
    pub gnmt: Option<f32>,
    /// When a beam search stops.
    pub early_stopping: Option<EarlyStopping>,
    /// How many of its best texts it gives.
    pub nbest: Option<usize>,
    /// Penalty for tokens that are in the text already.
    pub repetition_penalty: Option<f32>,
    /// Length of sequences that may not come twice.
    pub no_repeat_ngram: Option<usize>,
    /// New tokens there must be before the end.
    pub min_new: Option<usize>,
}

impl Request {
    /// As [`Request::resolve`], with the model in `folder`: if nothing was asked for, an error is one of its file.
    pub fn resolve_in(&self, folder: &Path, file: &Generation, vocabulary: usize) -> Result<Decoding> {
        let asked = *self != Self::default();
        self.resolve(file, vocabulary)
            .map_err(|e| if asked { e } else { e.in_file(&folder.join("generation_config.json")) })
    }

    /// What to do, with the model's own settings where nothing was asked for. `vocabulary` is its number of tokens.
    pub fn resolve(&self, file: &Generation, vocabulary: usize) -> Result<Decoding> {
        let rules = Rules {
            repetition_penalty: self.repetition_penalty.or(file.repetition_penalty).unwrap_or(1.0),
            no_repeat_ngram: self.no_repeat_ngram.or(file.no_repeat_ngram),
            never: file.never.clone(),
            ends: file.ends.clone(),
            min_new: self.min_new.or(file.min_new).unwrap_or(0),
            min_length: if self.min_new.is_some() { 0 } else { file.min_length.unwrap_or(0) },
            forced_end: file.forced_end,
        };
        let decoding = Decoding { strategy: self.strategy(file)?, rules };
        decoding.validate(vocabulary)?;
        Ok(decoding)
    }

    fn strategy(&self, file: &Generation) -> Result<Strategy> {
        let asked_to_draw = self.temperature.is_some_and(|t| t != 0.0)
            || self.top_k.is_some()
            || self.top_p.is_some()
            || self.samples.is_some()
            || self.seed.is_some();
        let many = |beams: Option<usize>| beams.is_some_and(|beams| beams != 1);
        if asked_to_draw && many(self.beams) {
            return Err(Error::config("beam search does not draw: it keeps the likeliest texts")
                .hint("leave out --beams, or --temperature, --top-k, --top-p, --samples and --seed"));
        }
        let by_default = !asked_to_draw && self.beams.is_none() && self.temperature.is_none();
        if by_default && file.sample == Some(true) && many(file.beams) {
            return Err(Error::config(
                "do_sample and num_beams together, drawing inside a beam search, are not supported",
            )
            .hint("choose one of them with --temperature 1 or --beams 4"));
        }
        let draws = asked_to_draw || (by_default && file.sample == Some(true));
        // Temperature 0 is greedy, whatever the file recommends.
        let beams = match draws || self.temperature.is_some() {
            true => self.beams.filter(|_| !draws),
            false => self.beams.or(file.beams),
        };
        if !many(beams) {
            self.check_no_beam_setting()?;
        }
        match beams {
            Some(beams) if beams != 1 => Ok(Strategy::Beams(self.beams(beams, file)?)),
            _ if draws => self.draw(file),
            _ => Ok(Strategy::Greedy),
        }
    }

    fn draw(&self, file: &Generation) -> Result<Strategy> {
        let their_top_k = match (file.top_k, file.sample) {
            (Some(0), _) => None,
            (None, Some(true)) => Some(THEIR_TOP_K),
            (k, _) => k,
        };
        let filter = Filter {
            temperature: self.temperature.or(file.temperature).unwrap_or(1.0),
            top_k: self.top_k.or(their_top_k),
            top_p: self.top_p.or(file.top_p).unwrap_or(1.0),
        };
        filter.validate()?;
        let samples = self.samples.or(file.outputs).unwrap_or(1);
        if filter.temperature == 0.0 {
            if samples > 1 {
                return Err(Error::config(format!(
                    "temperature 0 would write the same text {samples} times"
                ))
                .hint("use --temperature 0.7, or leave out --samples"));
            }
            return Ok(Strategy::Greedy);
        }
        Ok(Strategy::Sample(Sampling { filter, samples, seed: self.seed.unwrap_or(0) }))
    }

    fn beams(&self, beams: usize, file: &Generation) -> Result<Beams> {
        let penalty = match (self.length_penalty, self.gnmt) {
            (Some(_), Some(_)) => {
                return Err(Error::config("there are two length penalties, and one text has one score")
                    .hint("use --length-penalty or --gnmt"));
            }
            (None, Some(alpha)) => LengthPenalty::Gnmt(alpha),
            (alpha, None) => LengthPenalty::Power(alpha.or(file.length_penalty).unwrap_or(1.0)),
        };
        let their_stopping = match &file.early_stopping {
            Some(Value::Bool(true)) => EarlyStopping::AtOnce,
            Some(Value::String(_)) => EarlyStopping::Never,
            _ => EarlyStopping::Heuristic,
        };
        Ok(Beams {
            beams,
            penalty,
            stopping: self.early_stopping.unwrap_or(their_stopping),
            nbest: self.nbest.or(file.outputs).unwrap_or(1),
        })
    }

    /// What only a beam search knows must not be passed over in silence.
    fn check_no_beam_setting(&self) -> Result<()> {
        if self.nbest == Some(0) {
            return Err(
                Error::config("nbest 0 would give no text").hint("use --beams 4 --nbest 4, or leave it out")
            );
        }
        if let Some(nbest) = self.nbest.filter(|n| *n != 1) {
            return Err(Error::config(format!("nbest {nbest} is more than one beam can give"))
                .hint(format!("use --beams {}, or --samples to draw", nbest.max(2))));
        }
        let given = [
            ("length penalty", self.length_penalty.is_some()),
            ("GNMT penalty", self.gnmt.is_some()),
            ("early stopping", self.early_stopping.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Error::config(format!("{name} matters in beam search only"))
                .hint("use --beams 4 with it, or leave it out")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn strategy(request: Request, file: Generation) -> Strategy {
        request.resolve(&file, 100).unwrap().strategy
    }

    #[test]
    fn without_wishes_it_is_greedy_or_what_the_file_says() {
        assert_eq!(strategy(Request::default(), Generation::default()), Strategy::Greedy);
        let file = Generation {
            beams: Some(6),
            length_penalty: Some(0.6),
            early_stopping: Some(json!(true)),
            ..Generation::default()
        };
        let want =
            Beams { beams: 6, penalty: LengthPenalty::Power(0.6), stopping: EarlyStopping::AtOnce, nbest: 1 };
        assert_eq!(strategy(Request::default(), file.clone()), Strategy::Beams(want));
        assert_eq!(
            strategy(Request { beams: Some(1), ..Request::default() }, file.clone()),
            Strategy::Greedy
        );
        let asked = Request { temperature: Some(0.0), ..Request::default() };
        assert_eq!(strategy(asked, file.clone()), Strategy::Greedy);
        let asked = Request { temperature: Some(0.5), ..Request::default() };
        assert!(matches!(strategy(asked, file), Strategy::Sample(s) if s.filter.temperature == 0.5));
    }

    #[test]
    fn drawing_as_a_file_says_has_its_defaults() {
        let file = Generation { sample: Some(true), top_p: Some(0.9), ..Generation::default() };
        let Strategy::Sample(sampling) = strategy(Request::default(), file.clone()) else {
            panic!("drawing")
        };
        assert_eq!(sampling.filter, Filter { temperature: 1.0, top_k: Some(50), top_p: 0.9 });
        let all = Generation { top_k: Some(0), ..file.clone() };
        let Strategy::Sample(sampling) = strategy(Request::default(), all) else { panic!("drawing") };
        assert_eq!(sampling.filter.top_k, None);
        assert_eq!(
            strategy(Request { temperature: Some(0.0), ..Request::default() }, file),
            Strategy::Greedy
        );
    }

    #[test]
    fn wishes_that_contradict_each_other_are_refused_with_a_hint() {
        let file = Generation::default();
        let both = Generation { sample: Some(true), beams: Some(4), ..Generation::default() };
        for (request, file) in [
            (Request { beams: Some(4), top_k: Some(5), ..Request::default() }, &file),
            (Request { nbest: Some(3), ..Request::default() }, &file),
            (Request { length_penalty: Some(1.0), ..Request::default() }, &file),
            (
                Request { beams: Some(4), length_penalty: Some(1.0), gnmt: Some(0.6), ..Request::default() },
                &file,
            ),
            (Request { temperature: Some(0.0), samples: Some(3), ..Request::default() }, &file),
            (Request { beams: Some(0), ..Request::default() }, &file),
            (Request::default(), &both),
        ] {
            let error = request.resolve(file, 100).unwrap_err();
            assert!(error.hint_text().is_some(), "{request:?}: {error}");
        }
    }
}
