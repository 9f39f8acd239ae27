//! What a run can make again: tokens, tokenizer, metrics.

use super::train::{finish, gpt_args, pairs, result, start, text};
use super::*;
use std::fs;

/// Pairs, lines and labelled texts come from files of tokens: made once, and again when they are
/// damaged, to the same bytes.
#[test]
fn sequences_are_cut_once_and_a_damaged_cache_is_made_again() {
    let folder = scratch("train-sequences");
    let (source, target) = pairs(&folder, 300);
    let table = folder.join("labelled.tsv");
    let lines = fs::read_to_string(&source).unwrap();
    let row = |(i, line): (usize, &str)| format!("{line}\t{}\n", ["odd", "even"][i % 2]);
    fs::write(
        &table,
        "text\tlabel\n".to_string() + &lines.lines().enumerate().map(row).collect::<String>(),
    )
    .unwrap();
    let [source, target, table] = [&source, &target, &table].map(|path| path.to_str().unwrap());
    let kinds: [&[&str]; 5] = [
        &["translate", "--source", source, "--target", target],
        &["classify", "--data", table],
        &["gpt", "--data", source, "--set", "data.unit=lines"],
        &["bert", "--data", source, "--set", "data.unit=lines"],
        &["bert", "--data", source, "--set", "data.unit=pairs"],
    ];
    for (i, kind) in kinds.iter().enumerate() {
        let train = |name: &str, steps: &str| {
            let out = folder.join(format!("{name}-{i}"));
            let mut args: Vec<&str> = ["train"].iter().chain(*kind).copied().collect();
            args.extend(["--out", out.to_str().unwrap(), "--resume", "--steps", steps]);
            let batch = match kind.contains(&"data.unit=pairs") {
                true => "train.batch_size=4",
                false => "train.batch_tokens=200",
            };
            let set = [
                "tokenizer.kind=word",
                "model.layers=1",
                "model.hidden_size=16",
                "model.heads=2",
                "model.context_length=24",
                batch,
                "train.warmup_steps=2",
                "train.schedule=constant",
                "train.samples=1",
            ];
            args.extend(set.iter().flat_map(|pair| ["--set", pair]));
            let said = super::run(&args);
            assert!(said.status.success(), "{}", stderr(&said));
            (out, stderr(&said))
        };
        let (whole, _) = train("whole", "8");
        let (run, _) = train("parts", "4");
        let tokens = |run: &Path| fs::read(run.join("cache/train.tokens")).unwrap();
        let lengths = run.join("cache/train.lengths");
        let before = fs::read(&lengths).unwrap();
        fs::write(&lengths, &before[..70]).unwrap();
        let (_, said) = train("parts", "8");
        assert!(said.contains("train.lengths") && said.contains("rebuilt"), "{said}");
        assert!(fs::read(&lengths).unwrap() == before && tokens(&run) == tokens(&whole));
        assert!(result(&run).1 == result(&whole).1, "{kind:?}");
    }
}

#[test]
fn what_can_be_made_again_is_and_the_run_goes_on_with_the_same_bytes() {
    let folder = scratch("train-mended");
    let (data, run, whole) = (text(&folder, 300), folder.join("run"), folder.join("whole"));
    let args = |out: &Path, steps: &str| {
        gpt_args(&data, out, &["--resume", "--set", "train.schedule=constant", "--steps", steps])
    };
    finish(&args(&whole, "20"));
    finish(&args(&run, "14"));
    let cut = |name: &str, bytes: usize| {
        let path = run.join(name);
        let there = fs::read(&path).unwrap();
        fs::write(path, &there[..bytes]).unwrap();
    };
    cut("cache/train.tokens", 100);
    cut("tokenizer/tokenizer.json", 50);
    cut("metrics.jsonl", 60);
    fs::write(run.join("cache/train.tokens.1.tmp"), "half").unwrap();
    let said = finish(&args(&run, "20"));
    for part in [
        "train.tokens",
        "rebuilt from the text",
        "tokenizer.json",
        "metrics.jsonl: it has 60 of the",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(result(&run).1 == result(&whole).1);
    assert!(!run.join("cache/train.tokens.1.tmp").exists());
    // Fewer steps than are done: nothing is written.
    let before = fs::read(run.join("config.toml")).unwrap();
    refused(
        &start(&args(&run, "10")).output().unwrap(),
        "has completed 20 steps, more than the 10",
        "--steps 20",
    );
    assert!(fs::read(run.join("config.toml")).unwrap() == before);
    // A run's own settings name its folder, also before its first metrics.
    let config = run.join("config.toml");
    fs::remove_file(run.join("metrics.jsonl")).unwrap();
    let again = super::run(&["train", config.to_str().unwrap(), "--resume"]);
    assert!(stderr(&again).contains("has done all of its 20 steps"), "{}", stderr(&again));
}

#[test]
fn a_run_goes_on_when_its_files_have_moved_but_not_with_others_or_in_another_order() {
    let folder = scratch("train-moved");
    let (data, run, whole) = (text(&folder, 300), folder.join("run"), folder.join("whole"));
    let args = |data: &Path, out: &Path, steps: &str| {
        gpt_args(data, out, &["--resume", "--set", "train.schedule=constant", "--steps", steps])
    };
    finish(&args(&data, &whole, "14"));
    finish(&args(&data, &run, "7"));
    let away = folder.join("elsewhere.txt");
    fs::rename(&data, &away).unwrap();
    finish(&args(&away, &run, "14"));
    assert!(result(&run) == result(&whole));
    // Other contents are another run's, wherever they lie.
    let other = folder.join("other.txt");
    fs::write(&other, fs::read_to_string(&away).unwrap().replace("cat", "cow")).unwrap();
    let changed = start(&args(&other, &run, "21")).output().unwrap();
    refused(&changed, "data.text was [", "--out");
    // The same files, but one of them moved from what is validated on to what is learnt from.
    let kept = folder.join("kept.txt");
    fs::write(&kept, fs::read_to_string(&away).unwrap().replace("cat", "dog")).unwrap();
    let lists = |text: &[&Path], validation: &[&Path], steps: &str| {
        let list = |key: &str, files: &[&Path]| {
            let names: Vec<String> =
                files.iter().map(|file| format!("'{}'", file.display())).collect();
            format!("data.{key}=[{}]", names.join(", "))
        };
        let (text, validation) = (list("text", text), list("validation_text", validation));
        let more = ["--resume", "--steps", steps, "--set", &text, "--set", &validation];
        gpt_args(&away, &folder.join("lists"), &more)
    };
    finish(&lists(&[&away, &other], &[&kept], "7"));
    let moved = start(&lists(&[&away], &[&other, &kept], "14")).output().unwrap();
    refused(&moved, "data.validation_text was", "--out");
    let turned = start(&lists(&[&other, &away], &[&kept], "14")).output().unwrap();
    refused(&turned, "data.text was [", "--out");
}

#[test]
fn a_table_that_would_be_read_otherwise_under_its_new_name_is_not_the_same() {
    let folder = scratch("train-renamed");
    let (tsv, out) = (folder.join("p.tsv"), folder.join("run"));
    fs::write(&tsv, "yes, a cat\tCAT, A YES\nno, a dog\tDOG, A NO\n".repeat(40)).unwrap();
    let train = |pairs: &Path, steps: &str| {
        let small =
            ["model.layers=1", "model.hidden_size=16", "model.heads=2", "tokenizer.kind=word"];
        let mut args = vec!["train", "translate", "--pairs", pairs.to_str().unwrap(), "--resume"];
        args.extend(["--out", out.to_str().unwrap(), "--steps", steps]);
        args.extend(small.iter().flat_map(|set| ["--set", set]));
        start(&args.into_iter().map(String::from).collect::<Vec<_>>()).output().unwrap()
    };
    assert!(train(&tsv, "2").status.success());
    let (csv, text) = (folder.join("p.csv"), folder.join("moved.tsv"));
    fs::copy(&tsv, &csv).unwrap();
    refused(&train(&csv, "4"), "data.pairs was ", "--out");
    fs::rename(&tsv, &text).unwrap();
    let again = train(&text, "4");
    assert!(again.status.success(), "{}", stderr(&again));
}

#[test]
fn what_lies_in_the_folder_of_the_best_model_is_of_this_run_or_is_made_again() {
    let folder = scratch("train-kept");
    let (data, run, kept) = (text(&folder, 300), folder.join("run"), folder.join("kept"));
    let args = gpt_args(&data, &run, &["--resume", "--set", "train.steps=14"]);
    finish(&args);
    let best = run.join("model");
    let copy = |from: &Path, to: &Path| {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    };
    copy(&best, &kept);
    let same =
        |name: &str| fs::read(best.join(name)).unwrap() == fs::read(kept.join(name)).unwrap();
    // What stands beside the weights is known to the run.
    for name in ["config.json", "tokenizer.json"] {
        fs::write(best.join(name), "{\"model_type\": ").unwrap();
        let said = finish(&args);
        assert!(said.contains(name) && said.contains("written again"), "{said}");
        assert!(same(name) && same("model.safetensors"));
    }
    assert!(!finish(&args).contains("warning"));
    // Models of another kind or size are not taken for its own.
    let other = folder.join("other");
    finish(&gpt_args(&data, &other, &["--set", "train.steps=1", "--set", "model.hidden_size=64"]));
    for foreign in [model().to_path_buf(), other.join("model")] {
        copy(&foreign, &best);
        let said = finish(&args);
        assert!(
            said.contains("contains another model than this run's: the best weights so far"),
            "{said}"
        );
        assert!(same("config.json") && same("model.safetensors"), "the last step was the best");
    }
    // Nor one of the same sizes, but of another text.
    let (room, twin) = (folder.join("elsewhere"), folder.join("twin"));
    fs::create_dir_all(&room).unwrap();
    let words = text(&room, 300);
    let swapped = fs::read_to_string(&words).unwrap().replace('c', "b");
    fs::write(&words, swapped).unwrap();
    finish(&gpt_args(&words, &twin, &["--set", "train.steps=14", "--set", "train.seed=2"]));
    copy(&twin.join("model"), &best);
    assert!(same("config.json") && !same("tokenizer.json"), "as many characters, but others");
    let said = finish(&args);
    assert!(said.contains("another tokenizer than this run's: the best weights so far"), "{said}");
    assert!(same("tokenizer.json") && same("model.safetensors"));
    // An unreadable line of metrics costs that line.
    let path = run.join("metrics.jsonl");
    let lines = fs::read_to_string(&path).unwrap();
    fs::write(&path, lines.replacen("{\"kind\":\"train\"", "gar\u{1}bage", 1)).unwrap();
    let said = finish(&args);
    assert!(said.contains("1 of its ") && said.contains("lines cannot be read"), "{said}");
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count() + 1, lines.lines().count());
}
