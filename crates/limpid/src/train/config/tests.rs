use super::*;
use std::path::PathBuf;

const GPT: &str = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n";

#[test]
fn overrides_win_over_the_file_and_the_file_over_what_is_usual() {
    let text = format!("{GPT}[train]\nsteps = 7\nlr = 0.5\n");
    let config = RunConfig::parse(&text, &["train.lr=0.25".into(), "tokenizer.kind=bpe".into()]).unwrap();
    assert_eq!((config.train.steps, config.train.lr), (7, 0.25));
    assert_eq!(config.train.batch, TrainConfig::default().batch);
    assert_eq!(config.tokenizer.kind.as_deref(), Some("bpe"));
}

#[test]
fn a_configuration_is_the_same_after_it_was_saved() {
    let config = RunConfig::parse(GPT, &["train.ema=0.99".into(), "model.ffn=33".into()]).unwrap();
    assert_eq!(RunConfig::parse(&config.to_toml(), &[]).unwrap(), config);
    assert_eq!(config.with(&["train.steps=3".into()]).unwrap().train.steps, 3);
}

#[test]
fn what_a_run_cannot_be_is_refused_by_name() {
    let error = |text: &str, set: &str| {
        let overrides: Vec<String> = set.split_whitespace().map(String::from).collect();
        RunConfig::parse(text, &overrides).unwrap_err().to_string()
    };
    assert!(error("task = \"sing\"", "").contains("'sing'"));
    assert!(error(GPT, "train.stepps=4").contains("stepps"));
    assert!(error(GPT, "train.steps=0").contains("train.steps = 0"));
    assert!(error(GPT, "train.steps=many").contains("steps"));
    assert!(error(GPT, "train.schedule=zigzag").contains("zigzag"));
    assert!(error(GPT, "train.lr=nan").contains("train.lr"));
    assert!(error(GPT, "train.beta2=1").contains("train.beta2"));
    assert!(error(GPT, "train.average_last=5").contains("train.keep"));
    assert!(error(GPT, "model.heads=3").contains("3 heads"));
    assert!(error(GPT, "train.batch=2305843009213693952").contains("train.batch"));
    assert!(error(GPT, "train.epochs=1000000000000").contains("train.epochs"));
    assert!(error(GPT, "model.norm=post model.activation=gelu").contains("no gelu"));
    assert!(error(GPT, "model.norm=post model.ffn=33").contains("4 · 128"));
    assert!(error(GPT, "nonsense").contains("key=value"));
    assert!(error("task = \"gpt\"", "").contains("no text"));
    let translate = |data: &str| error(&format!("task = \"translate\"\n[data]\n{data}"), "");
    assert!(translate("").contains("translations"));
    assert!(translate("source = \"a\"").contains("only one is given"));
    assert!(translate("pairs = \"a.tsv\"\nsource = \"a\"").contains("as well"));
    assert!(translate("pairs = \"a.tsv\"\ntest_target = \"a\"").contains("data.test_source"));
    assert!(translate("pairs = \"a.xls\"").contains("a.xls"));
    let bert = GPT.replace("gpt", "bert");
    assert!(error(&bert, "data.unit=pages").contains("pages"));
    assert!(error(GPT, "data.unit=pairs").contains("pairs"));
    assert!(error(&bert, "masking.share=1.5").contains("masking.share"));
    assert!(error(&bert, "model.norm=pre").contains("model.norm"));
    assert!(error(&bert, "model.context=3").contains("model.context"));
    assert!(error(&GPT.replace("gpt", "classify"), "table.format=xlsx").contains("xlsx"));
    assert!(error("task = \"classify\"", "").contains("labelled"));
}

#[test]
fn steps_that_are_asked_for_are_not_overruled_by_the_epochs_of_a_file() {
    let text = format!("{GPT}[train]\nepochs = 7\n");
    let length = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| set.to_string()).collect();
        RunConfig::parse(&text, &set).map(|config| (config.train.steps, config.train.epochs))
    };
    assert_eq!(length(&[]).unwrap().1, 7);
    assert_eq!(length(&["train.steps=5"]).unwrap(), (5, 0));
    assert_eq!(length(&["train.epochs=0", "train.steps=5"]).unwrap(), (5, 0));
    assert_eq!(length(&["train.epochs=3"]).unwrap().1, 3);
    assert!(length(&["train.epochs=3", "train.steps=5"]).unwrap_err().to_string().contains("both"));
}

#[test]
fn paths_of_a_file_are_relative_to_its_folder() {
    let folder = std::env::temp_dir().join(format!("limpid-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("run.toml"), GPT).unwrap();
    let config = RunConfig::read(&folder.join("run.toml"), &[]).unwrap();
    assert_eq!(config.data.text, [folder.join("a.txt")]);
    // What is typed is meant from where it is typed.
    let typed = ["data.validation_text=[\"b.txt\"]".to_string()];
    let config = RunConfig::read(&folder.join("run.toml"), &typed).unwrap();
    assert_eq!(config.data.text, [folder.join("a.txt")]);
    assert_eq!(config.data.validation_text, [PathBuf::from("b.txt")]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_key_is_in_the_documentation() {
    let text = include_str!("../../../../../docs/formats.md");
    let table: toml::Table = full().to_toml().parse().unwrap();
    for (section, value) in table {
        let keys = match value {
            toml::Value::Table(table) => {
                table.into_iter().map(|(key, _)| format!("{section}.{key}")).collect()
            }
            _ => vec![section],
        };
        keys.iter().for_each(|key| assert!(text.contains(&format!("`{key}`")), "{key}"));
    }
}

/// A configuration that says everything there is to say.
fn full() -> RunConfig {
    let path = || Some(PathBuf::from("a"));
    let mut config = RunConfig::new(TaskKind::Translate);
    config.data = DataConfig {
        text: vec!["a".into()],
        unit: Some("lines".into()),
        source: path(),
        target: path(),
        pairs: path(),
        source_column: Some("1".into()),
        target_column: Some("2".into()),
        header: true,
        validation_text: vec!["a".into()],
        validation_source: path(),
        validation_target: path(),
        validation_pairs: path(),
        test_source: path(),
        test_target: path(),
        test_pairs: path(),
        validation_share: Some(0.5),
        max_tokens: Some(9),
        drop_duplicates: true,
    };
    config.tokenizer =
        TokenizerConfig { from: path(), kind: Some("word".into()), vocab: Some(99), lowercase: true };
    config.model = ModelConfig {
        ffn: Some(7),
        norm: Some("pre".into()),
        activation: Some("relu".into()),
        from: path(),
        ..config.model
    };
    config.table.format = Some("label-first".into());
    config
}

#[test]
fn a_column_may_be_written_as_its_number() {
    let text = "task = \"classify\"\n[data]\ntext = [\"a.tsv\"]\n[table]\nheader = false\ntext = [2, 3]\nlabel = 1\n";
    let config = RunConfig::parse(text, &[]).unwrap();
    assert_eq!((&config.table.text[..], &config.table.label[..]), (&["2".to_string(), "3".into()][..], "1"));
    let set = ["data.pairs=a.tsv", "data.source_column=2", "data.target_column=1"].map(String::from);
    let config = RunConfig::new(TaskKind::Translate).with(&set).unwrap();
    assert_eq!(
        (config.data.source_column.unwrap(), config.data.target_column.unwrap()),
        ("2".into(), "1".into())
    );
}

#[test]
fn of_two_values_for_a_key_the_last_counts_and_one_that_cannot_be_is_refused_wherever_it_stands() {
    let text = "task = \"gpt\"\n[data]\ntext = [\"a.txt\"]\n";
    let with = |overrides: &[&str]| {
        RunConfig::parse(text, &overrides.iter().map(|change| change.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(with(&["train.steps=3", "train.steps=5"]).unwrap().train.steps, 5);
    for wrong in [["train.steps=abc", "train.steps=5"], ["train.steps=5", "train.steps=abc"]] {
        assert!(with(&wrong).unwrap_err().to_string().contains("whole number"));
    }
}

#[test]
fn a_list_of_one_needs_no_brackets() {
    let config = RunConfig::parse(
        "task = \"gpt\"\n[data]\ntext = \"a.txt\"\n",
        &["data.validation_text=b.txt".into()],
    )
    .unwrap();
    assert_eq!(config.data.text, [PathBuf::from("a.txt")]);
    assert_eq!(config.data.validation_text, [PathBuf::from("b.txt")]);
}
