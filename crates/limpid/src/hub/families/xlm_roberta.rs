//! `xlm-roberta`: RoBERTa under another name (`XLMRobertaModel`, `XLMRobertaForMaskedLM`,
//! `XLMRobertaForSequenceClassification`). Below a head the base model is `roberta`, too.

use super::roberta::Roberta;
use crate::model::config::EncoderHead;

pub(super) const XLM_ROBERTA: Roberta = Roberta {
    model_type: "xlm-roberta",
    tokenizer_class: "XLMRobertaTokenizer",
    classes: &[
        ("XLMRobertaModel", EncoderHead::Pooler),
        ("XLMRobertaForMaskedLM", EncoderHead::MaskedLm),
        ("XLMRobertaForSequenceClassification", EncoderHead::Classifier(Vec::new())),
    ],
};
