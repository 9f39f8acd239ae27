//! Mutated metrics, summaries, settings, charts, and what sentence-transformers leaves beside a
//! model: refused or accepted, never a panic.

use crate::fuzz::{never_panics, scratch};
use limpid::hub;
use limpid::report::{Chart, Run, all_figures, compare, html};
use std::fs;
use std::path::Path;

const CASES: u64 = 10_000;

/// Mutates each of some files, while the others stay as they are.
fn each_of(folder: &Path, files: &[(&str, &str)], parse: impl Fn()) {
    for (name, good) in files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, good).unwrap();
    }
    parse();
    for (name, good) in files {
        let path = folder.join(name);
        never_panics(name, &[good.as_bytes().to_vec()], CASES, |bytes| {
            fs::write(&path, bytes).unwrap();
            parse();
        });
        fs::write(&path, good).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn reports_survive_any_bytes_in_the_files_of_a_run() {
    let folder = scratch("report");
    let metrics = "{\"kind\":\"train\",\"step\":10,\"loss\":2.5,\"lr\":0.001,\"grad_norm\":1.5,\"tokens\":900,\"seconds\":1.5}\n\
                   {\"kind\":\"validation\",\"step\":10,\"loss\":2.4,\"perplexity\":11.0,\"bleu\":12.5,\"best\":true}\n\
                   {\"kind\":\"sample\",\"step\":10,\"prompt\":\"a\",\"text\":\"<b>\",\"reference\":\"c\"}\n";
    let summary = "{\"bleu\": 31.25, \"scored_on\": \"test\", \"test\": {\"chrf\": 50.0}, \
                   \"bleu_by_length\": [{\"from\": 0, \"to\": null, \
                   \"sentences\": 4, \"bleu\": 20.0}]}";
    let settings = "task = \"gpt\"\n[train]\nsteps = 10\nlr = 1e-3\n[data]\ntext = [\"a\"]\n";
    let files = [("metrics.jsonl", metrics), ("summary.json", summary), ("config.toml", settings)];
    each_of(&folder, &files, || {
        if let Ok(run) = Run::read(&folder) {
            let _ = all_figures(&run);
            let page = html(&run);
            assert!(
                page.contains("</html>") && !page.contains("<b>"),
                "what a run says is text, not markup"
            );
            let _ = compare(&[run]).text();
        }
    });
}

#[test]
fn charts_survive_any_bytes() {
    let folder = scratch("chart");
    let chart = "{\"title\":\"Step \
                 time\",\"x\":{\"label\":\"tokens\",\"scale\":\"log\"},\"y\":{\"label\":\"ms\",\"include\":0,\"ticks\":[0,10]},\
                 \"series\":[{\"name\":\"a\",\"points\":[[64,10.5],[128,null]],\"mark\":\"dots\",\"band\":[[64,9,12]]}]}";
    let path = folder.join("chart.json");
    each_of(&folder, &[("chart.json", chart)], || {
        if let Ok(chart) = Chart::read(&path) {
            let _ = chart.svg();
        }
    });
}

#[test]
fn what_sentence_transformers_leaves_survives_any_bytes() {
    let folder = scratch("pooling");
    let files = [
        (
            "1_Pooling/config.json",
            "{\"word_embedding_dimension\": 4, \"pooling_mode_cls_token\": false, \
             \"pooling_mode_mean_tokens\": true}",
        ),
        ("sentence_bert_config.json", "{\"max_seq_length\": 256, \"do_lower_case\": false}"),
        (
            "modules.json",
            "[{\"idx\": 0, \"type\": \"sentence_transformers.models.Transformer\"}, {\"type\": \
             \"a.Pooling\"}]",
        ),
    ];
    each_of(&folder, &files, || {
        let _ = hub::load_pooling(&folder);
        let _ = hub::load_sentence_config(&folder);
    });
}
