//! `limpid train …`

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(ClapArgs)]
pub struct Train {
    /// Configuration file (see configs/); run folder, with --resume; or task: gpt (language
    /// model), translate, bert (masked language model), classify (texts), tag (words), answer
    /// (questions about texts)
    #[arg(value_name = "CONFIG.toml|RUN|TASK")]
    pub what: String,
    /// Text files for gpt and bert; for classify, tables with the columns text and label (.tsv,
    /// .csv, .jsonl); for tag, a line per word with its label (.conll) or lists of words and labels
    /// (.jsonl); for answer, SQuAD's JSON (.json) or question, context, answer and start (.jsonl)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub data: Vec<PathBuf>,
    /// Source sentences, one per line
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Target sentences, one per line
    #[arg(long, value_name = "FILE")]
    pub target: Option<PathBuf>,
    /// Source and target sentences in one table: the first two columns (.tsv, .csv), or the keys
    /// source and target (.jsonl)
    #[arg(long, value_name = "FILE")]
    pub pairs: Option<PathBuf>,
    /// Language of the sources, of a multilingual model (mBART, NLLB, M2M-100): a code of its own,
    /// such as de_DE, deu_Latn or de; short for --set data.source_lang=… [default: that of --from]
    #[arg(long, value_name = "CODE")]
    pub source_lang: Option<String>,
    /// Language of the targets; short for --set data.target_lang=… [default: that of --from]
    #[arg(long, value_name = "CODE")]
    pub target_lang: Option<String>,
    /// Pretrained model to fine-tune, of the same stack (an encoder for bert, tag and answer, an
    /// encoder or a decoder for classify): its sizes, tokenizer and weights are loaded. The
    /// learning rate is then 5e-5 by default, of adapters 5e-4; classify, tag and answer choose the
    /// epochs by the size of the data
    #[arg(long, value_name = "MODEL", value_parser = super::model_folder)]
    pub from: Option<PathBuf>,
    /// For classify: what the labels are: single_label_classification, regression (a number) or
    /// multi_label_classification (any number of them, between commas); short for
    /// --set model.problem_type=… [default: that of the pretrained classifier, or a single label]
    #[arg(long, value_name = "NAME")]
    pub problem_type: Option<String>,
    /// Format of labelled texts or --pairs: tsv, csv, jsonl, or for labelled texts label-first (a
    /// label, a space, the text); for tag conll or jsonl, for answer squad or jsonl; short for
    /// --set data.format=… [default: by file extension]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<String>,
    /// Run folder [default: runs/ and the name of the configuration]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// For translation: transformer or rnn; short for --set model.arch=…
    #[arg(long, value_name = "NAME")]
    pub arch: Option<String>,
    /// Recurrent cell: tanh, gru or lstm [default: gru]
    #[arg(long, value_name = "NAME")]
    pub cell: Option<String>,
    /// Attention of a recurrent model: none, dot or additive [default: additive]
    #[arg(long, value_name = "NAME")]
    pub attention: Option<String>,
    /// Whether the encoder of a recurrent model is bidirectional [default: true]
    #[arg(long, value_name = "true|false", num_args = 0..=1, default_missing_value = "true")]
    pub bidirectional: Option<bool>,
    /// Optimizer steps, instead of the steps or epochs of a file; short for --set train.steps=N
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    /// Any key of the configuration, such as train.steps=500 or model.hidden_size=256; may be given
    /// several times. Relative paths resolve against the current directory
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Resume from the last checkpoint; start the run if there is none
    #[arg(long, conflicts_with = "force")]
    pub resume: bool,
    /// Overwrite an existing run, once the new one has a checkpoint
    #[arg(long)]
    pub force: bool,
    /// Learning-rate range test instead of training: raises the rate from 1e-6 to 1 over STEPS
    /// steps and suggests one; with --out, plots the curve into that folder
    #[arg(long, value_name = "STEPS", num_args = 0..=1, require_equals = true,
        default_missing_value = "200", conflicts_with_all = ["resume", "force"])]
    pub find_lr: Option<u64>,
    /// Print the result as JSON at the end
    #[arg(long, conflicts_with = "show_config")]
    pub json: bool,
    /// Print the configuration with every key and its default, and exit
    #[arg(long)]
    pub show_config: bool,
}
