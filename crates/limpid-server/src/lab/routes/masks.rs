//! Masked words, with the exact truth of the built-in stories.

use super::{Answer, Shared, body, json};
use crate::lab::opened::Opened;
use crate::lab::passes::ranked;
use crate::lab::problem::{Kind, LabProblem};
use crate::lab::tokens;
use crate::lab::types::{FillMask, FillMaskRequest, Mask, MaskPrediction, TrueWord};
use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::Request;
use limpid::inspect::{ForwardPass, PassInput};
use limpid_learn::corpus::stories;
use std::sync::Arc;

/// Predictions that are listed, and the most that may be asked for.
const LISTED: usize = 10;
const MAX_LISTED: usize = 200;
/// Masks of one text.
const MAX_MASKS: usize = 64;

pub async fn create(Extract(state): Shared, request: Request<Body>) -> Answer {
    let request: FillMaskRequest = body(request).await?;
    let shared = Arc::clone(&state);
    let found = state.work.heavy(move || {
        let opened = shared.model(&request.model)?;
        fill(&opened, &request)
    });
    Ok(json(&found.await?))
}

fn fill(opened: &Opened, request: &FillMaskRequest) -> Result<FillMask, LabProblem> {
    let fills = opened.stack().encoder().is_some_and(|model| model.config().head.fills_masks());
    if !fills {
        return Err(opened.cannot("fill a mask"));
    }
    let tokenizer = opened.tokenizer();
    let (mask, mask_text) = tokenizer.mask_token().ok_or_else(|| {
        LabProblem::new(Kind::Unsupported, "the tokenizer of this model has no mask token")
    })?;
    let (mut ids, types) = opened.read(&request.text, None)?;
    let before = ids.clone();
    for index in &request.mask {
        let missing = || LabProblem::invalid("mask", format!("there is no token {index}"));
        *ids.get_mut(*index).ok_or_else(missing)? = mask;
    }
    let masks: Vec<usize> = (0..ids.len()).filter(|i| ids[*i] == mask).collect();
    if masks.is_empty() || masks.len() > MAX_MASKS {
        let message = format!("{} masks: 1 to {MAX_MASKS} can be filled", masks.len());
        return Err(LabProblem::new(Kind::Invalid, message)
            .hint(format!("write {mask_text} in the text, or choose a word of it")));
    }
    let input = PassInput::Text((ids.clone(), types));
    let pass = ForwardPass::run(opened.stack(), opened.pipeline.weights(), &input, &[])?;
    let top = request.top.unwrap_or(LISTED).min(MAX_LISTED);
    let predictions = pass.predictions(top);
    let words: Vec<String> =
        before.iter().map(|id| tokenizer.decode(&[*id]).unwrap_or_default()).collect();
    let one = |index: usize| {
        let (truth, note) = truth(opened, &words, &ids, index, mask);
        let found = predictions.iter().find(|found| found.row == Some(index));
        let predictions = found.map(|found| &found.top[..]).unwrap_or_default();
        let prediction = |found: &limpid::inspect::Ranked| {
            let found = ranked(opened, *found);
            let own = |words: &Vec<TrueWord>| {
                let same = |word: &&TrueWord| {
                    word.id == Some(found.id)
                        || (word.id.is_none() && word.text == found.text.trim())
                };
                words.iter().find(same).map_or(0.0, |word| word.probability)
            };
            MaskPrediction {
                truth: truth.as_ref().map(own),
                id: found.id,
                text: found.text,
                probability: found.probability,
            }
        };
        Mask {
            index,
            hidden: (before[index] != mask).then(|| tokens::one(tokenizer, before[index])),
            predictions: predictions.iter().map(prediction).collect(),
            truth,
            truth_note: note,
        }
    };
    let masks = masks.into_iter().map(one).collect();
    let shown = request.mask.is_empty().then_some(request.text.as_str());
    Ok(FillMask { tokens: tokens::tokens(tokenizer, &ids, shown), masks })
}

/// The exact distribution at a mask, or why it is not known.
fn truth(
    opened: &Opened,
    words: &[String],
    ids: &[u32],
    index: usize,
    mask: u32,
) -> (Option<Vec<TrueWord>>, Option<String>) {
    if !opened.model.is_story {
        return (None, None);
    }
    if ids.iter().filter(|id| **id == mask).count() > 1 {
        return (None, Some("The truth is known for one mask at a time.".into()));
    }
    let tokenizer = opened.tokenizer();
    let special = tokenizer.special_tokens();
    let is_word = |i: &usize| *i == index || !special.iter().any(|(id, _)| *id == ids[*i]);
    let kept: Vec<usize> = (0..ids.len()).filter(is_word).collect();
    // Any word of the grammar stands for the mask: which one makes no difference.
    let text: Vec<&str> =
        kept.iter().map(|i| if *i == index { "a" } else { words[*i].trim() }).collect();
    let text = text.join(" ");
    let place = kept.iter().position(|i| *i == index).unwrap_or(0);
    if stories::words(&text).len() != kept.len() {
        return (None, Some("A token of this text is not a word of the stories.".into()));
    }
    let word = |text: String, probability: f64| TrueWord {
        id: tokenizer.id(&format!("▁{text}")).or_else(|| tokenizer.id(&text)),
        text,
        probability,
    };
    let found: Vec<TrueWord> = stories::masked(&text, place)
        .into_iter()
        .map(|found| word(found.word, found.probability))
        .collect();
    if !found.is_empty() {
        return (Some(found), None);
    }
    // Not a whole story, but perhaps the beginning of one.
    let found: Vec<TrueWord> = stories::masked_beginning(&text, place)
        .into_iter()
        .map(|found| word(found.word, found.probability))
        .collect();
    match found.is_empty() {
        true => (None, Some("The words around the mask are not from a built-in story.".into())),
        false => (Some(found), None),
    }
}
