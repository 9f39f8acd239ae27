//! `xlm-roberta`: RoBERTa under another name (`XLMRobertaModel`, `XLMRobertaForMaskedLM`,
//! `XLMRobertaForSequenceClassification`,
//! `XLMRobertaForTokenClassification`, `XLMRobertaForQuestionAnswering`).
//! Below a head the base model is `roberta`, too.

use super::roberta::Roberta;
use crate::model::config::{EncoderHead, Labels};

pub(super) const XLM_ROBERTA: Roberta = Roberta {
    model_type: "xlm-roberta",
    tokenizer_class: "XLMRobertaTokenizer",
    classes: &[
        ("XLMRobertaModel", EncoderHead::Pooler),
        ("XLMRobertaForMaskedLM", EncoderHead::MaskedLm),
        ("XLMRobertaForSequenceClassification", EncoderHead::Classifier(Labels::ANY)),
        ("XLMRobertaForTokenClassification", EncoderHead::TokenClassifier(Vec::new())),
        ("XLMRobertaForQuestionAnswering", EncoderHead::QuestionAnswering),
    ],
};
