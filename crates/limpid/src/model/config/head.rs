//! Heads of encoders and decoders: what is predicted from the hidden states.

use crate::error::{ModelConfigError, Result};
use crate::nn::named;

/// The head on top of an encoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncoderHead {
    /// None: one vector per token.
    Bare,
    /// A pooler: one vector per sequence, from its first token.
    Pooler,
    /// Masked language modelling: logits over the vocabulary at masked positions.
    MaskedLm,
    /// Masked language modelling, and next-sentence prediction on the pooler.
    PreTraining,
    /// Sequence classification or regression, on the pooler.
    Classifier(Labels),
    /// Token classification: logits over these labels for each token.
    TokenClassifier(Vec<String>),
    /// Extractive question answering: each token's logit to be the first of the answer, and to be
    /// its last.
    QuestionAnswering,
}

impl EncoderHead {
    /// Whether it has a pooler.
    pub fn has_pooler(&self) -> bool {
        matches!(self, Self::Pooler | Self::PreTraining | Self::Classifier(_))
    }

    /// Whether it predicts masked tokens.
    pub fn fills_masks(&self) -> bool {
        matches!(self, Self::MaskedLm | Self::PreTraining)
    }

    /// Whether it has one row of logits per token: neither pooled nor over the vocabulary.
    pub fn is_per_token(&self) -> bool {
        matches!(self, Self::TokenClassifier(_) | Self::QuestionAnswering)
    }

    /// What kind of model it makes of an encoder, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Bare | Self::Pooler => "an encoder",
            Self::MaskedLm | Self::PreTraining => "an encoder with a masked-LM head",
            Self::Classifier(labels) => match labels.problem() {
                ProblemType::Regression => "an encoder with a regression head",
                ProblemType::SingleLabel | ProblemType::MultiLabel => {
                    "an encoder with a classification head"
                }
            },
            Self::TokenClassifier(_) => "an encoder with a token-classification head",
            Self::QuestionAnswering => "an encoder with a question-answering head",
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Classifier(labels) => labels.check(),
            Self::TokenClassifier(labels) if labels.len() < 2 => {
                Err(ModelConfigError::TooFewLabels { found: labels.len() }.into())
            }
            _ => Ok(()),
        }
    }
}

/// The head on top of a decoder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DecoderHead {
    /// Logits over the vocabulary, for the next token.
    #[default]
    LanguageModel,
    /// Sequence classification or regression, on the last token that is not padding.
    Classifier {
        /// The labels.
        labels: Labels,
        /// The padding token, which some texts end with; `None`: every last token counts.
        pad_token_id: Option<u32>,
    },
}

/// What the labels of a sequence classifier are to each other: `problem_type` of `config.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemType {
    /// The logits are numbers: mean squared error.
    Regression,
    /// Exactly one label applies: cross-entropy loss.
    SingleLabel,
    /// Any number of labels apply: binary cross-entropy loss.
    MultiLabel,
}

named!(ProblemType, "problem_type",
    "regression" => Regression,
    "single_label_classification" => SingleLabel,
    "multi_label_classification" => MultiLabel);

/// What makes scores of the logits of a sequence classifier, as in the pipelines of
/// `transformers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelActivation {
    /// Nothing: the logits are the scores.
    Identity,
    /// A probability for each label alone.
    Sigmoid,
    /// Probabilities that add up to 1.
    Softmax,
}

/// The labels of a sequence classifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Their names, by index.
    pub names: Vec<String>,
    /// What they are to each other; `None` if the files do not say: see [`Labels::problem`].
    pub problem_type: Option<ProblemType>,
}

impl Labels {
    /// No labels: stands for any in lists of classes.
    pub(crate) const ANY: Self = Self { names: Vec::new(), problem_type: None };

    /// What is trained: with no `problem_type`, regression for one label, else exactly one label.
    pub fn problem(&self) -> ProblemType {
        self.problem_type.unwrap_or(match self.names.len() {
            1 => ProblemType::Regression,
            _ => ProblemType::SingleLabel,
        })
    }

    /// What makes scores of the logits: with no `problem_type`, a sigmoid for one label.
    pub fn activation(&self) -> LabelActivation {
        match (self.problem_type, self.names.len()) {
            (Some(ProblemType::Regression), _) => LabelActivation::Identity,
            (Some(ProblemType::MultiLabel), _) | (_, 1) => LabelActivation::Sigmoid,
            (Some(ProblemType::SingleLabel) | None, _) => LabelActivation::Softmax,
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        let least = if self.problem() == ProblemType::SingleLabel { 2 } else { 1 };
        match self.names.len() {
            found if found < least => Err(ModelConfigError::TooFewLabels { found }.into()),
            _ => Ok(()),
        }
    }
}

/// Labels of which exactly one applies.
impl From<Vec<String>> for Labels {
    fn from(names: Vec<String>) -> Self {
        Self { names, problem_type: Some(ProblemType::SingleLabel) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problem_and_activation_follow_the_rules_of_transformers() {
        use LabelActivation::{Identity, Sigmoid, Softmax};
        use ProblemType::{MultiLabel, Regression, SingleLabel};
        for (count, problem_type, problem, activation) in [
            (1, None, Regression, Sigmoid),
            (1, Some(Regression), Regression, Identity),
            (1, Some(MultiLabel), MultiLabel, Sigmoid),
            (3, None, SingleLabel, Softmax),
            (3, Some(Regression), Regression, Identity),
            (3, Some(SingleLabel), SingleLabel, Softmax),
            (3, Some(MultiLabel), MultiLabel, Sigmoid),
        ] {
            let names = (0..count).map(|i| i.to_string()).collect();
            let labels = Labels { names, problem_type };
            assert_eq!((labels.problem(), labels.activation()), (problem, activation));
            assert!(labels.check().is_ok());
        }
        assert!(Labels::from(vec!["one".to_string()]).check().is_err());
        assert!(Labels::ANY.check().is_err());
    }
}
