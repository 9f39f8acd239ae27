//! `camembert`: RoBERTa under another name (`CamembertModel`, `CamembertForMaskedLM`,
//! `CamembertForSequenceClassification`,
//! `CamembertForTokenClassification`, `CamembertForQuestionAnswering`).
//! Below a head the base model is called `roberta` here too.

use super::roberta::Roberta;
use crate::model::config::{EncoderHead, Labels};

pub(super) const CAMEMBERT: Roberta = Roberta {
    model_type: "camembert",
    tokenizer_class: "CamembertTokenizer",
    classes: &[
        ("CamembertModel", EncoderHead::Pooler),
        ("CamembertForMaskedLM", EncoderHead::MaskedLm),
        ("CamembertForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
        ("CamembertForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
        ("CamembertForQuestionAnswering", EncoderHead::QuestionAnswering),
    ],
};
