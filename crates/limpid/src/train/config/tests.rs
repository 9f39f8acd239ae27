use super::*;
use crate::data::parallel::PairFiles;
use crate::data::table::{Column, Header, TableFormat};
use crate::error::{Error, SettingError};
use crate::model::config::{Cell, Directions, StackConfig};
use crate::optim::Schedule;
use std::collections::BTreeSet;

const GPT: &str = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n";
const TRANSLATE: &str = "task = \"translate\"\n[data]\nsource = \"a.fr\"\ntarget = \"a.en\"\n";
const BERT: &str = "task = \"bert\"\n[data]\ntext = \"a.txt\"\n";
const TAG: &str = "task = \"tag\"\n[data]\ntext = \"a.conll\"\n";
const ANSWER: &str = "task = \"answer\"\n[data]\ntext = \"a.json\"\n";
const CLASSIFY: &str = "task = \"classify\"\n[data]\ntext = \"a.tsv\"\n";

fn parse(text: &str, set: &[&str]) -> Result<RunConfig> {
    RunConfig::parse(text, &set.iter().map(|set| set.to_string()).collect::<Vec<_>>())
}

fn error(text: &str, set: &str) -> SettingError {
    match parse(text, &set.split_whitespace().collect::<Vec<_>>()) {
        Err(Error::Setting(error)) => error,
        other => panic!("{set}: {other:?}"),
    }
}

#[test]
fn overrides_win_over_the_file_and_the_file_over_defaults() {
    let text = format!("{GPT}[train]\nsteps = 7\nlr = 0.5\n");
    let config = parse(&text, &["train.lr=0.25", "tokenizer.kind=bpe"]).unwrap();
    assert_eq!((config.train.length, config.train.lr), (Length::Steps(7), 0.25));
    assert_eq!(config.train.batch, BatchSize::Sequences(12));
    let TokenizerConfig::Train { kind, .. } = config.tokenizer else { panic!("a trained one") };
    assert_eq!(kind, TokenizerKind::Bpe);
}

#[test]
fn a_saved_configuration_reads_back_as_it_was() {
    let runs = [
        parse(GPT, &["train.ema=0.99", "model.intermediate_size=33", "train.lr=1e-4"]),
        parse(GPT, &["data.unit=lines", "data.drop_duplicates=true", "train.epochs=3"]),
        parse(TRANSLATE, &["data.max_tokens=9", "score.num_beams=4", "train.schedule=constant"]),
        parse(TRANSLATE, &["model.arch=rnn", "model.cell=lstm", "train.warmup_ratio=0.06"]),
        parse("task = \"translate\"\n[data]\npairs = \"a.csv\"\n", &["data.source_column=fr"]),
        parse(BERT, &["data.unit=pairs", "masking.whole_words=true", "tokenizer.from=folder"]),
        parse(CLASSIFY, &["data.text_columns=[\"a\", 2]", "train.best_metric=f1"]),
        parse(CLASSIFY, &["data.format=jsonl", "data.validation_text=b.jsonl"]),
        parse(CLASSIFY, &["model.problem_type=regression", "train.best_metric=spearman"]),
        parse(
            CLASSIFY,
            &["model.problem_type=multi_label_classification", "data.label_separator=|"],
        ),
        parse(TAG, &["data.format=conll", "data.word_column=2", "data.label_column=4"]),
        parse(ANSWER, &["data.doc_stride=64", "train.best_metric=exact_match"]),
    ];
    for config in runs {
        let config = config.unwrap();
        assert_eq!(parse(&config.to_toml(), &[]).unwrap(), config);
        assert_eq!(parse(&config.to_toml_with_defaults(), &[]).unwrap(), config);
    }
}

#[test]
fn a_key_without_effect_is_refused_with_the_one_that_has_it() {
    let cases = [
        (GPT, "train.batch_tokens=99", "gpt", "train.batch_size"),
        (GPT, "data.header=true", "gpt", "no columns"),
        (GPT, "data.source_column=2", "gpt", "no columns"),
        (GPT, "data.max_tokens=9", "gpt", "only pairs"),
        (GPT, "data.drop_duplicates=true", "gpt", "lines"),
        (GPT, "data.source=x", "gpt", "data.text"),
        (GPT, "model.cell=gru", "gpt", "recurrent"),
        (GPT, "model.arch=rnn", "gpt", "translate"),
        (GPT, "masking.probability=0.3", "gpt", "bert"),
        (GPT, "score.num_beams=3", "gpt", "translate"),
        (GPT, "train.best_metric=accuracy", "gpt", "validation loss"),
        (GPT, "train.schedule=constant train.min_lr=0.0001", "gpt", "constant"),
        (GPT, "tokenizer.from=x tokenizer.kind=bpe", "gpt", "tokenizer.from"),
        (GPT, "data.validation_text=v data.validation_split=0.2", "gpt", "validation files"),
        (GPT, "data.unit=lines train.batch_size=4", "gpt", "train.batch_tokens"),
        (TRANSLATE, "train.batch_size=4", "translate", "train.batch_tokens"),
        (TRANSLATE, "data.text=x", "translate", "data.pairs"),
        (TRANSLATE, "data.source_column=2", "translate", "data.pairs"),
        (TRANSLATE, "data.unit=lines", "translate", "gpt and bert"),
        (TRANSLATE, "model.cell=gru", "translate", "model.arch = \"rnn\""),
        (TRANSLATE, "model.arch=rnn model.heads=2", "translate", "transformer"),
        (TRANSLATE, "data.label_column=x", "translate", "data.source_column"),
        (BERT, "model.norm=pre", "bert", "nothing else"),
        (BERT, "data.source_column=1", "bert", "no columns"),
        (CLASSIFY, "train.batch_size=4", "classify", "train.batch_tokens"),
        (CLASSIFY, "data.source_column=1", "classify", "data.text_columns"),
        (CLASSIFY, "data.format=label-first data.header=false", "classify", "label-first"),
        (CLASSIFY, "data.label_separator=|", "classify", "multi_label"),
        (
            CLASSIFY,
            "model.problem_type=regression train.label_smoothing=0.1",
            "classify",
            "cross-entropy",
        ),
        (GPT, "model.problem_type=regression", "gpt", "classify"),
        (TAG, "data.text_columns=x", "tag", "data.word_column"),
        (TAG, "data.doc_stride=3", "tag", "answer"),
        (TAG, "train.batch_size=3", "tag", "train.batch_tokens"),
        (ANSWER, "data.label_column=x", "answer", "fixed names"),
        (ANSWER, "train.label_smoothing=0.1", "answer", "cross-entropy"),
    ];
    for (text, set, expected, words) in cases {
        match error(text, set) {
            SettingError::NoEffect { task, reason, .. } => {
                assert!(task == expected && reason.contains(words), "{set}: {reason}");
            }
            other => panic!("{set}: {other:?}"),
        }
    }
}

#[test]
fn a_number_out_of_range_is_refused_with_the_range() {
    let cases = [
        (GPT, "train.steps=0", "from 1 to"),
        (GPT, "train.batch_size=2305843009213693952", "from 1 to 1073741824"),
        (GPT, "train.epochs=1000000000000", "from 1 to 1000000"),
        (GPT, "train.lr=nan", "positive"),
        (GPT, "train.beta2=1", "below 1"),
        (GPT, "train.samples=100000", "to 1000"),
        (GPT, "model.context_length=0", "at least 1"),
        (BERT, "masking.probability=1.5", "below 1"),
        (BERT, "model.context_length=3", "at least 4"),
        (TRANSLATE, "data.max_tokens=1", "at least 2"),
        (CLASSIFY, "data.text_columns=[1,2,3]", "one or two"),
        (CLASSIFY, "data.validation_split=1", "below 1"),
    ];
    for (text, set, words) in cases {
        match error(text, set) {
            SettingError::OutOfRange { expected, key, .. } => {
                assert!(expected.contains(words) && set.starts_with(&key), "{set}: {expected}");
            }
            other => panic!("{set}: {other:?}"),
        }
    }
}

#[test]
fn a_wrong_value_is_refused_with_what_is_accepted() {
    let cases = [
        ("task = \"sing\"", "", "gpt, translate, bert, classify"),
        (GPT, "train.steps=many", "a whole number"),
        (GPT, "train.steps=99999999999999999999", "a whole number from 0 to 9223372036854775807"),
        (GPT, "train.schedule=zigzag", "constant, inverse-sqrt, linear, cosine"),
        (GPT, "data.unit=pairs", "windows, lines"),
        (BERT, "data.unit=pages", "windows, lines, pairs"),
        (GPT, "model.bias=1", "true or false"),
        (CLASSIFY, "data.format=xlsx", "tsv, csv, jsonl, label-first"),
        ("task = \"translate\"\n[data]\npairs = \"a.tsv\"", "data.format=label-first", "for pairs"),
    ];
    for (text, set, words) in cases {
        let error = error(text, set);
        let inner = match &error {
            SettingError::At { source, .. } => source,
            other => other,
        };
        match inner {
            SettingError::Invalid { expected, .. } => {
                assert!(expected.contains(words), "{set}: {expected}");
            }
            other => panic!("{set}: {other:?}"),
        }
    }
}

#[test]
fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    let nearest = |set: &str| match error(GPT, set) {
        SettingError::Unknown { nearest, .. } => nearest.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    assert_eq!(nearest("train.stepps=4"), "train.steps");
    assert_eq!(nearest("model.width=4"), "");
    assert!(matches!(error(GPT, "nonsense"), SettingError::NotKeyValue { .. }));
}

#[test]
fn data_that_is_missing_or_given_twice_is_refused() {
    let translate = |data: &str| error(&format!("task = \"translate\"\n[data]\n{data}"), "");
    let missing = |error| matches!(error, SettingError::Missing { .. });
    let conflict = |error| matches!(error, SettingError::Conflict { .. });
    assert!(missing(error("task = \"gpt\"", "")));
    assert!(missing(error("task = \"classify\"", "")));
    assert!(missing(translate("")));
    assert!(missing(translate("source = \"a\"")));
    assert!(missing(translate("pairs = \"a.tsv\"\ntest_target = \"a\"")));
    assert!(conflict(translate("pairs = \"a.tsv\"\nsource = \"a\"")));
    assert!(conflict(translate("pairs = \"a.csv\"\nsource_column = \"fr\"\nheader = false")));
    let named = parse("task = \"translate\"\n[data]\npairs = \"a.xls\"", &[]);
    assert!(named.unwrap_err().to_string().contains("a.xls"));
}

#[test]
fn values_that_do_not_fit_together_are_refused() {
    let mismatch = |set: &str| match error(GPT, set) {
        SettingError::Mismatch { other, .. } => other,
        other => panic!("{other:?}"),
    };
    assert_eq!(mismatch("train.average_checkpoints=5"), "train.keep_checkpoints");
    assert_eq!(mismatch("train.min_lr=1"), "train.lr");
    let text = |set: &str| {
        parse(GPT, &set.split_whitespace().collect::<Vec<_>>()).unwrap_err().to_string()
    };
    assert!(text("model.heads=3").contains("3 heads"));
    assert!(text("model.norm=post model.activation=gelu").contains("gelu"));
    assert!(text("model.norm=post model.intermediate_size=33").contains("4 · 128"));
}

#[test]
fn an_override_of_the_length_replaces_the_files() {
    let length = |file: &str, set: &[&str]| {
        parse(&format!("{GPT}[train]\n{file}\n"), set).map(|config| config.train.length)
    };
    let epochs = |count| Length::Epochs(Epochs::Count(count));
    assert_eq!(length("epochs = 7", &[]).unwrap(), epochs(7));
    assert_eq!(length("epochs = 7", &["train.steps=5"]).unwrap(), Length::Steps(5));
    assert_eq!(length("steps = 7", &["train.epochs=3"]).unwrap(), epochs(3));
    assert!(length("", &["train.epochs=3", "train.steps=5"]).is_err());
    assert!(length("steps = 3\nepochs = 3", &[]).is_err());
}

#[test]
fn an_error_of_a_file_has_its_line_and_column() {
    let folder = std::env::temp_dir().join(format!("limpid-place-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.toml");
    let read = |text: &str, set: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
        RunConfig::read(&path, &set, None).unwrap_err().to_string()
    };
    let of_file = |text: &str, set: &[&str]| read(&format!("{GPT}{text}"), set);
    let at = |line, column| format!("run.toml: line {line}, column {column}: ");
    assert!(of_file("[train]\nsteps = \"many\"\n", &[]).contains(&at(5, 9)));
    assert!(of_file("[train]\nlr = -1\n", &[]).contains(&at(5, 6)));
    assert!(of_file("[train]\nstepps = 1\n", &[]).contains(&at(5, 10)));
    assert!(of_file("[train]\nlr = = 1\n", &[]).contains("run.toml: line 5, column "));
    // An override has no place, and is not the file's fault.
    assert!(of_file("[train]\nlr = 1\n", &["train.lr=-1"]).starts_with("train.lr = -1"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn paths_of_a_file_are_relative_to_its_folder_or_in_the_data_folder() {
    let folder = std::env::temp_dir().join(format!("limpid-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("run.toml");
    std::fs::write(&path, "task = \"gpt\"\n[data]\ntext = [\"a.txt\", \"$LIMPID_DATA/b\"]\n")
        .unwrap();
    let set = ["data.validation_text=c.txt".to_string()];
    let config = RunConfig::read(&path, &set, Some("/data".as_ref())).unwrap();
    assert_eq!(config.training_files(), [folder.join("a.txt"), "/data/b".into()]);
    assert_eq!(config.validation_files(), [PathBuf::from("c.txt")]);
    let error = RunConfig::read(&path, &[], None).unwrap_err().to_string();
    assert!(error.contains("no data folder is set"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_key_is_in_the_documentation_and_belongs_to_a_task() {
    let text = include_str!("../../../../../docs/formats.md");
    keys::KEYS.iter().for_each(|key| assert!(text.contains(&format!("`{key}`")), "{key}"));
    let runs = [
        (GPT, &["data.unit=lines"][..]),
        (GPT, &[]),
        (TRANSLATE, &["data.validation_pairs=a.tsv"]),
        (TRANSLATE, &["model.arch=rnn"]),
        (BERT, &[]),
        (CLASSIFY, &[]),
        (CLASSIFY, &["model.from=../../reference/fixtures/bert-mlm", "lora.rank=2"]),
        (CLASSIFY, &["model.problem_type=multi_label_classification"]),
        (TAG, &[]),
        (ANSWER, &[]),
    ];
    let mut asked: BTreeSet<&str> = BTreeSet::new();
    for (text, set) in runs {
        let mut settings = Settings::parse(text).unwrap();
        set.iter().for_each(|set| settings.set(set).unwrap());
        RunConfig::from_settings(&mut settings).unwrap();
        asked.extend(settings.effective());
    }
    assert_eq!(asked, keys::KEYS.iter().copied().collect());
    assert!(keys::PATHS.iter().all(|path| keys::KEYS.contains(path)));
}

#[test]
fn a_column_may_be_written_as_its_number() {
    let set = ["data.header=false", "data.text_columns=[2, 3]", "data.label_column=\"1\""];
    let config = parse(CLASSIFY, &set).unwrap();
    let Task::Classify(task) = &config.task else { panic!("another task") };
    let table = task.data.table();
    assert_eq!(table.texts, [Column::Number(2), Column::Number(3)]);
    assert_eq!((table.label, table.header), (Column::Number(1), Header::Missing));
}

#[test]
fn a_table_of_pairs_has_the_columns_of_its_format() {
    let columns = |path: &str, set: &[&str]| {
        let text = format!("task = \"translate\"\n[data]\npairs = \"{path}\"\n");
        let config = parse(&text, set).unwrap();
        let Task::Translate(task) = config.task else { panic!("another task") };
        match task.data.training_pairs() {
            PairFiles::Table { format, header, source, target, .. } => {
                (format, header, source, target)
            }
            other => panic!("{other:?}"),
        }
    };
    let (one, two) = (Column::Number(1), Column::Number(2));
    let name = |name: &str| Column::Name(name.into());
    assert_eq!(columns("a.tsv", &[]), (TableFormat::Tsv, Header::Missing, one.clone(), two));
    assert_eq!(
        columns("a", &["data.format=jsonl"]),
        (TableFormat::JsonLines, Header::First, name("source"), name("target"))
    );
    assert_eq!(
        columns("a.csv", &["data.target_column=en"]),
        (TableFormat::Csv, Header::First, one, name("en"))
    );
}

#[test]
fn of_two_values_for_a_key_the_last_counts_and_a_wrong_one_is_refused_anywhere() {
    let steps = |set: &[&str]| parse(GPT, set).map(|config| config.train.length);
    assert_eq!(steps(&["train.steps=3", "train.steps=5"]).unwrap(), Length::Steps(5));
    for wrong in [["train.steps=abc", "train.steps=5"], ["train.steps=5", "train.steps=abc"]] {
        assert!(steps(&wrong).unwrap_err().to_string().contains("whole number"));
    }
}

#[test]
fn sizes_that_are_not_set_follow_the_hidden_size() {
    let config = parse(TRANSLATE, &["model.hidden_size=64"]).unwrap();
    let StackConfig::EncoderDecoder(model) = config.stack(9, &[]).unwrap() else {
        panic!("a Transformer")
    };
    assert_eq!((model.d_model, model.encoder_ffn_dim), (64, 256));
    let set = ["model.arch=rnn", "model.hidden_size=64", "model.bidirectional=false"];
    let config = parse(TRANSLATE, &set).unwrap();
    let StackConfig::Recurrent(model) = config.stack(9, &[]).unwrap() else {
        panic!("a recurrent model")
    };
    assert_eq!((model.embedding_size, model.directions), (64, Directions::Forward));
    assert_eq!(model.cell, Cell::Gru);
}

#[test]
fn each_task_has_its_defaults() {
    let gpt = parse(GPT, &[]).unwrap().train;
    assert_eq!((gpt.schedule, gpt.warmup), (Schedule::Cosine, Warmup::Steps(100)));
    let translate = parse(TRANSLATE, &[]).unwrap().train;
    assert_eq!(translate.warmup, Warmup::Steps(400));
    assert_eq!((translate.schedule, translate.label_smoothing), (Schedule::InverseSquareRoot, 0.1));
    let bert = parse(BERT, &[]).unwrap().train;
    assert_eq!((bert.batch, bert.weight_decay), (BatchSize::Sequences(32), 0.01));
    let classify = parse(CLASSIFY, &[]).unwrap().train;
    assert_eq!((classify.best_metric, classify.lr), (BestMetric::Accuracy, 1e-3));
    assert_eq!(classify.length, Length::Steps(2_000));
}

#[test]
fn fine_tuning_has_defaults_of_its_own_and_the_models_sizes() {
    let folder = std::env::temp_dir().join(format!("limpid-pretrained-{}", std::process::id()));
    let sizes = ["model.layers=2", "model.hidden_size=16", "model.context_length=32"];
    let small = parse(BERT, &sizes).unwrap().stack(40, &[]).unwrap();
    let model = crate::model::Model::new(small, 1).unwrap();
    crate::hub::save(&model, &folder).unwrap();
    let from = format!("model.from={}", folder.display());
    let config = parse(CLASSIFY, &[&from]).unwrap();
    let Task::Classify(task) = &config.task else { panic!("another task") };
    assert_eq!((task.model.layers, task.model.hidden_size, task.model.context_length), (2, 16, 32));
    let train = &config.train;
    assert_eq!((train.lr, train.weight_decay, train.beta2), (5e-5, 0.01, 0.999));
    let adapters = parse(CLASSIFY, &[&from, "lora.rank=2"]).unwrap();
    assert_eq!((adapters.train.lr, adapters.train.length), (5e-4, train.length));
    assert_eq!(RunConfig::parse_saved(&adapters.to_toml()).unwrap(), adapters);
    assert_eq!((train.length, train.warmup), (Length::Epochs(Epochs::Auto), Warmup::Ratio(0.1)));
    assert_eq!(config.tokenizer, TokenizerConfig::Pretrained);
    assert_eq!(RunConfig::parse_saved(&config.to_toml()).unwrap(), config);
    let refused = |set: &str| parse(CLASSIFY, &[&from, set]).unwrap_err();
    let differs = refused("model.layers=3");
    assert!(matches!(differs, Error::Pretrained(crate::error::PretrainedError::Differs { .. })));
    let long = refused("model.context_length=64");
    assert!(matches!(long, Error::Pretrained(crate::error::PretrainedError::TooLong { .. })));
    assert!(parse(CLASSIFY, &[&from, "model.layers=2", "model.context_length=9"]).is_ok());
    assert!(parse(GPT, &[&from]).unwrap_err().to_string().contains("a decoder"));
    std::fs::remove_dir_all(&folder).unwrap();
    // What was saved is complete without the model.
    assert_eq!(RunConfig::parse_saved(&config.to_toml()).unwrap(), config);
}

#[test]
fn a_pretrained_model_is_found_where_the_facade_finds_it() {
    let root = std::env::temp_dir().join(format!("limpid-config-module-{}", std::process::id()));
    let module = root.join("0_Transformer");
    std::fs::create_dir_all(&module).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures/bert-mlm");
    std::fs::copy(fixture.join("config.json"), module.join("config.json")).unwrap();
    let modules = r#"[{"idx": 0, "name": "0", "path": "0_Transformer",
        "type": "sentence_transformers.models.Transformer"}]"#;
    std::fs::write(root.join("modules.json"), modules).unwrap();
    let config = parse(CLASSIFY, &[&format!("model.from={}", root.display())]).unwrap();
    assert_eq!(config.pretrained, Some(module));
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn shown_values_have_their_defaults_beside_them() {
    let shown = parse(GPT, &["train.lr=5e-4", "model.hidden_size=64"]).unwrap();
    let shown = shown.to_toml_with_defaults();
    assert!(shown.contains("\nlr = 0.0005  # default: 0.001\n"), "{shown}");
    assert!(shown.contains("\nhidden_size = 64  # default: 128\n"), "{shown}");
    assert!(shown.contains("\nintermediate_size = 256\n"), "{shown}");
    assert!(shown.contains("\n# not set: validation_text\n"), "{shown}");
}

#[test]
fn every_configuration_of_the_repository_resolves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let config = RunConfig::read(&path, &[], Some("/data".as_ref()));
        assert!(config.is_ok(), "{}", config.unwrap_err());
        count += 1;
    }
    assert!(count >= 10, "{count} configurations");
}
