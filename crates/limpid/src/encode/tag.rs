//! Token classification: labels of tokens, and of the words and entities they are part of.

use super::TextEncoder;
use crate::data::batch::EncodedText;
use crate::error::{EncodeError, Result};
use crate::generate::argmax;
use crate::nn::named;
use crate::text::{TokenSpans, Tokenizer};
use limpid_tensor::kernels::softmax::softmax_forward;

/// How the labels of tokens become those of words and entities, as in the pipeline of
/// `transformers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregation {
    /// Each token has its label.
    None,
    /// Neighbouring tokens of one entity are joined; a word may have several.
    #[default]
    Simple,
    /// A word has the label of its first token; neighbouring words of one entity are joined.
    First,
    /// A word has the label with the best mean over its tokens.
    Average,
    /// A word has the label of its surest token.
    Max,
}

named!(Aggregation, "aggregation strategy", "none" => None, "simple" => Simple, "first" => First,
    "average" => Average, "max" => Max);

/// A labelled part of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Entity {
    /// The label, without `B-` or `I-` where tokens were joined.
    pub label: String,
    /// Its probability: of a token, or the mean over the tokens or words that were joined.
    pub score: f32,
    /// The tokens, joined as text.
    pub word: String,
    /// The first character.
    pub start: usize,
    /// One past the last character.
    pub end: usize,
    /// The token's index, special tokens included; `None` where tokens were joined.
    pub index: Option<usize>,
}

/// The labelled parts of each text, without those of label `O`.
/// # Errors
/// [`EncodeError::NoTokenClassificationHead`], and an [`EncodeError`] for a text that cannot be
/// used.
pub fn tag(
    encoder: &TextEncoder,
    texts: &[String],
    aggregation: Aggregation,
) -> Result<Vec<Vec<Entity>>> {
    let labels = encoder.model.token_labels().ok_or(EncodeError::NoTokenClassificationHead)?;
    let mut spans = Vec::with_capacity(texts.len());
    let mut encoded: Vec<EncodedText> = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let tokens = encoder.tokenizer.encode_spans(text, None)?.swap_remove(0);
        encoder.check(index, &tokens.ids, &tokens.type_ids)?;
        encoded.push((tokens.ids.clone(), tokens.type_ids.clone()));
        spans.push(tokens);
    }
    let mut found = Vec::with_capacity(texts.len());
    encoder.for_each_batch(&encoded, |tape, input, hidden, first| {
        let logits = encoder.model.token_logits(tape, hidden);
        let mut scores = vec![0.0; logits.data().len()];
        softmax_forward(&mut scores, logits.data(), labels.len());
        for (i, span) in input.tokens.spans.iter().enumerate() {
            let rows = &scores[span.start * labels.len()..(span.start + span.len) * labels.len()];
            let text = Labelled { tokenizer: encoder.tokenizer, labels, text: &texts[first + i] };
            found.push(text.entities(&spans[first + i], rows, aggregation)?);
        }
        Ok(())
    })?;
    Ok(found)
}

/// A token with the probabilities of its labels.
struct Token<'a> {
    entity: Entity,
    scores: &'a [f32],
    continues_word: bool,
}

/// A text to be labelled.
struct Labelled<'a> {
    tokenizer: &'a Tokenizer,
    labels: &'a [String],
    text: &'a str,
}

impl Labelled<'_> {
    fn entities(
        &self,
        spans: &TokenSpans,
        scores: &[f32],
        aggregation: Aggregation,
    ) -> Result<Vec<Entity>> {
        let tokens = self.tokens(spans, scores);
        let entities = match aggregation {
            Aggregation::None | Aggregation::Simple => {
                tokens.into_iter().map(|token| token.entity).collect()
            }
            _ => self.words(&tokens, aggregation)?,
        };
        let mut entities = match aggregation {
            Aggregation::None => entities,
            _ => self.grouped(&entities)?,
        };
        entities.retain(|entity| entity.label != "O");
        Ok(entities)
    }

    /// The tokens of the text itself.
    fn tokens<'s>(&self, spans: &TokenSpans, scores: &'s [f32]) -> Vec<Token<'s>> {
        let characters: Vec<char> = self.text.chars().collect();
        let (unknown, marks) = (self.tokenizer.unk_id(), self.tokenizer.marks_subwords());
        let rows = scores.chunks(self.labels.len()).enumerate();
        let token = |(index, scores): (usize, &'s [f32])| {
            let (id, (start, end)) = (spans.ids[index], spans.offsets[index]);
            let covered = &characters[start..end.max(start)];
            let mut word = self.tokenizer.token(id);
            let mut continues_word = match marks {
                true => word.chars().count() != covered.len(),
                // Without a mark, a word goes on where there is no space.
                false => start > 0 && !characters[start - 1..end.min(start + 1)].contains(&' '),
            };
            if Some(id) == unknown {
                (word, continues_word) = (covered.iter().collect(), false);
            }
            let best = argmax(scores);
            let (label, score) = (self.labels[best].clone(), scores[best]);
            let entity = Entity { label, score, word, start, end, index: Some(index) };
            Token { entity, scores, continues_word }
        };
        rows.filter(|(index, _)| !spans.is_special[*index]).map(token).collect()
    }

    /// One label for each word.
    fn words(&self, tokens: &[Token], aggregation: Aggregation) -> Result<Vec<Entity>> {
        let words = tokens.chunk_by(|_, next| next.continues_word);
        words.map(|word| self.word(word, aggregation)).collect()
    }

    fn word(&self, tokens: &[Token], aggregation: Aggregation) -> Result<Entity> {
        let mean = |label: usize| {
            tokens.iter().map(|token| token.scores[label]).sum::<f32>() / tokens.len() as f32
        };
        let (label, score) = match aggregation {
            Aggregation::Average => {
                let means: Vec<f32> = (0..self.labels.len()).map(mean).collect();
                let best = argmax(&means);
                (self.labels[best].clone(), means[best])
            }
            Aggregation::Max => {
                // The first of the surest.
                let surest = tokens.iter().reduce(|best, token| {
                    if token.entity.score > best.entity.score { token } else { best }
                });
                let entity = &surest.expect("a word has tokens").entity;
                (entity.label.clone(), entity.score)
            }
            _ => (tokens[0].entity.label.clone(), tokens[0].entity.score),
        };
        let words = tokens.iter().map(|token| token.entity.word.clone()).collect();
        let (start, end) = (tokens[0].entity.start, tokens[tokens.len() - 1].entity.end);
        let word = self.tokenizer.join_tokens(words)?;
        Ok(Entity { label, score, word, start, end, index: None })
    }

    /// Neighbours of one entity joined: a label that begins with `B-` starts another one.
    fn grouped(&self, entities: &[Entity]) -> Result<Vec<Entity>> {
        let continues = |before: &Entity, next: &Entity| {
            kind(&before.label) == kind(&next.label) && !next.label.starts_with("B-")
        };
        let groups = entities.chunk_by(continues);
        groups.map(|group| self.group(group)).collect()
    }

    fn group(&self, group: &[Entity]) -> Result<Entity> {
        let label = &group[0].label;
        let label = label.split_once('-').map_or(label.as_str(), |(_, kind)| kind).to_string();
        let score = group.iter().map(|entity| entity.score).sum::<f32>() / group.len() as f32;
        let word =
            self.tokenizer.join_tokens(group.iter().map(|entity| entity.word.clone()).collect())?;
        let (start, end) = (group[0].start, group[group.len() - 1].end);
        Ok(Entity { label, score, word, start, end, index: None })
    }
}

/// The kind of entity of a label: what follows `B-` or `I-`.
fn kind(label: &str) -> &str {
    label.strip_prefix("B-").or_else(|| label.strip_prefix("I-")).unwrap_or(label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Purpose, word_tokenizer_for};

    const LABELS: [&str; 3] = ["O", "B-X", "I-X"];

    fn entities(scores: &[[f32; 3]], aggregation: Aggregation) -> Vec<(String, usize, usize)> {
        let tokenizer = word_tokenizer_for(["a b c"], Purpose::Encoder).unwrap();
        let labels = LABELS.map(String::from);
        let text = Labelled { tokenizer: &tokenizer, labels: &labels, text: "a b c" };
        let spans = tokenizer.encode_spans("a b c", None).unwrap().remove(0);
        // [CLS] and [SEP] have a label too, which does not count.
        let rows = [&[[0.0, 1.0, 0.0]][..], scores, &[[0.0, 1.0, 0.0]][..]].concat().concat();
        let found = text.entities(&spans, &rows, aggregation).unwrap();
        found.into_iter().map(|entity| (entity.label, entity.start, entity.end)).collect()
    }

    #[test]
    fn neighbours_of_one_kind_are_joined_and_b_starts_another() {
        let (o, b, i) = ([0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]);
        // Tokens of this tokenizer begin with the space before them.
        let x = |start, end| ("X".to_string(), start, end);
        assert_eq!(entities(&[b, i, o], Aggregation::Simple), [x(0, 3)]);
        assert_eq!(entities(&[b, b, i], Aggregation::Simple), [x(0, 1), x(1, 5)]);
        assert_eq!(entities(&[i, o, i], Aggregation::Simple), [x(0, 1), x(3, 5)]);
        let each = [("B-X".to_string(), 0, 1), ("I-X".to_string(), 1, 3)];
        assert_eq!(entities(&[b, i, o], Aggregation::None), each);
    }
}
