//! Small models of every kind with initial weights, in folders.

use limpid::hub;
use limpid::model::Model;
use limpid::model::config::{
    DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead, Labels, StackConfig,
};
use limpid::text::{Purpose, Tokenizer, word_tokenizer, word_tokenizer_for};
use std::path::{Path, PathBuf};

pub const SENTENCES: [&str; 4] = [
    "the cat sat on the mat .",
    "a dog ran over the hill and the cat slept",
    "il dort sur le tapis .",
    "user assistant so good bad who sat ?",
];

fn save(folder: PathBuf, config: impl Into<StackConfig>, tokenizer: &Tokenizer) -> PathBuf {
    hub::save(&Model::new(config, 7).unwrap(), &folder).unwrap();
    tokenizer.save(&folder).unwrap();
    folder
}

/// A language model with a chat template.
pub fn gpt(parent: &Path) -> PathBuf {
    let tokenizer = word_tokenizer(SENTENCES).unwrap();
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 400, 2, 2, 16);
    let folder = save(parent.join("gpt"), config, &tokenizer);
    let template = "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}assistant";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    folder
}

/// A translator from French to English, by its name.
pub fn translator(parent: &Path) -> PathBuf {
    let tokenizer = word_tokenizer(SENTENCES).unwrap();
    let config = EncoderDecoderConfig::new(tokenizer.vocab_size(), 2, 2, 16, 32);
    save(parent.join("fr-en"), config, &tokenizer)
}

/// An encoder with a head.
pub fn encoder(parent: &Path, name: &str, head: EncoderHead) -> PathBuf {
    let tokenizer = word_tokenizer_for(SENTENCES, Purpose::Encoder).unwrap();
    let config = EncoderConfig::new(tokenizer.vocab_size(), 64, 2, 2, 16);
    save(parent.join(name), EncoderConfig { head, ..config }, &tokenizer)
}

/// One of each kind.
pub fn all(parent: &Path) -> Vec<PathBuf> {
    let labels = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let one = Labels { names: labels(&["relevance"]), problem_type: None };
    let words = labels(&["O", "B-PET", "I-PET"]);
    vec![
        gpt(parent),
        translator(parent),
        encoder(parent, "masked", EncoderHead::MaskedLm),
        encoder(parent, "classifier", EncoderHead::Classifier(labels(&["bad", "good"]).into())),
        encoder(parent, "reranker", EncoderHead::Classifier(one)),
        encoder(parent, "tagger", EncoderHead::TokenClassifier(words)),
        encoder(parent, "answerer", EncoderHead::QuestionAnswering),
    ]
}
