//! `camembert`: RoBERTa under another name (`CamembertModel`, `CamembertForMaskedLM`,
//! `CamembertForSequenceClassification`). Below a head the base model is called `roberta` here too.

use super::roberta::Roberta;
use crate::model::config::EncoderHead;

pub(super) const CAMEMBERT: Roberta = Roberta {
    model_type: "camembert",
    tokenizer_class: "CamembertTokenizer",
    classes: &[
        ("CamembertModel", EncoderHead::Pooler),
        ("CamembertForMaskedLM", EncoderHead::MaskedLm),
        ("CamembertForSequenceClassification", EncoderHead::Classifier(Vec::new())),
    ],
};
