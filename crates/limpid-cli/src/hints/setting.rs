//! Keys of a configuration: `train` sets them with `--set key=value`.

use limpid::error::SettingError;

pub(super) fn hint(error: &SettingError) -> Option<String> {
    Some(match error {
        SettingError::Unknown { .. } => {
            "docs/formats.md lists all keys of a run; so does --show-config".into()
        }
        SettingError::NoEffect { key, .. } => format!("leave {key} out"),
        SettingError::Invalid { key, .. } | SettingError::OutOfRange { key, .. } => {
            example(key).unwrap_or_else(|| "docs/formats.md describes every key".into())
        }
        SettingError::Missing { key, .. } => missing(key)?,
        SettingError::Conflict { key, other, .. } => format!("leave out {key} or {other}"),
        SettingError::Mismatch { key, found, other, bound, .. } => {
            fitting(key, found, other, bound)?
        }
        SettingError::NotKeyValue { .. } => "--set train.steps=500".into(),
        SettingError::Syntax { .. } => {
            "a configuration is TOML: [section] lines and key = value lines; \
             docs/formats.md has an example"
                .into()
        }
        SettingError::At { source, .. } => return hint(source),
        SettingError::NoDataFolder { .. } => "LIMPID_DATA=path/to/data limpid train …".into(),
        SettingError::NotUtf8 { .. } => "rename it, or link to it by another name".into(),
        _ => return None,
    })
}

/// A value that works, for keys whose range alone does not suggest one.
fn example(key: &str) -> Option<String> {
    let value = match key {
        "train.steps" => "2000",
        "train.epochs" => "10",
        "train.batch_size" => "12",
        "train.batch_tokens" => "4096",
        "train.gradient_accumulation_steps" | "train.micro_batches" => "4",
        "train.lr" => "1e-3",
        "train.min_lr" | "train.weight_decay" => "0",
        "train.warmup_steps" => "100",
        "train.warmup_ratio" => "0.1",
        "train.schedule" => "cosine",
        "train.bucketing" => "mixed",
        "train.beta1" => "0.9",
        "train.beta2" => "0.98",
        "train.eps" => "1e-8",
        "train.max_grad_norm" => "1",
        "train.label_smoothing" => "0.1",
        "train.ema" => "0.999",
        "train.log_every" => "10",
        "train.keep_checkpoints" => "2",
        "train.samples" => "2",
        "train.best_metric" => "loss",
        "masking.probability" => "0.15",
        "model.context_length" => "128",
        "model.dropout" => "0.1",
        "data.validation_split" => "0.1",
        "data.text_columns" => "text",
        "data.unit" => "lines",
        "data.max_tokens" => "64",
        "data.source_lang" => "de_DE",
        "data.target_lang" => "en_XX",
        "score.num_beams" => "4",
        "score.max_sentences" => "2000",
        "score.targets" => "translations",
        "tokenizer.kind" => "bpe",
        "tokenizer.vocab_size" => "8000",
        _ => return None,
    };
    Some(format!("for example --set {key}={value}"))
}

fn missing(key: &str) -> Option<String> {
    Some(match key {
        "data.text" => "name files with --data: input.txt, or labelled.tsv for a classifier".into(),
        "data.source" | "data.target" => "--source a.fr --target a.en, or --pairs a.tsv".into(),
        "task" => {
            "task = \"gpt\", \"translate\", \"bert\", \"classify\", \"tag\" or \"answer\"".into()
        }
        _ => {
            let pairs = key.replace("source", "pairs").replace("target", "pairs");
            format!("set {key}, or {pairs} to one table with both columns")
        }
    })
}

/// What makes two values fit.
fn fitting(key: &str, found: &str, other: &str, bound: &str) -> Option<String> {
    Some(match (key, other) {
        ("train.min_lr", "train.lr") => {
            let lr: f64 = bound.parse().ok()?;
            format!("--set train.min_lr={}", lr / 10.0)
        }
        ("train.average_checkpoints", _) => format!("--set {other}={found}"),
        _ => format!("--set {key}={bound}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_values_that_do_not_fit_get_one_that_does() {
        let mismatch = |key: &str, found: &str, other: &str, bound: &str| {
            let text = String::from;
            let reason = "";
            let (key, other) = (text(key), text(other));
            let (found, bound) = (text(found), text(bound));
            hint(&SettingError::Mismatch { key, found, other, bound, reason }).unwrap()
        };
        assert_eq!(mismatch("train.min_lr", "1", "train.lr", "0.001"), "--set train.min_lr=0.0001");
        assert_eq!(
            mismatch("train.average_checkpoints", "5", "train.keep_checkpoints", "2"),
            "--set train.keep_checkpoints=5"
        );
    }

    #[test]
    fn an_error_at_a_place_has_the_hint_of_what_it_is() {
        let source = Box::new(SettingError::OutOfRange {
            key: "train.lr".into(),
            found: "0".into(),
            expected: "a number above 0".into(),
        });
        let error = SettingError::At { line: 3, column: 4, source };
        assert_eq!(hint(&error).unwrap(), "for example --set train.lr=1e-3");
    }
}
