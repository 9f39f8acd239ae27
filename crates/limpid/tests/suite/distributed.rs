//! Runs on several processes, here threads of one: weights, checkpoints and metrics have the same
//! bytes at any number of ranks and threads.

use limpid::distributed::{World, threads};
use limpid::error::{DistributedError, Error};
use limpid::tensor::team;
use limpid::train::setup::{RunStart, open_in};
use limpid::train::{Control, Outcome, RunConfig, TrainEvent};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const STEPS: u64 = 50;

fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("limpid-world-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let words = ["the cat sat", "a dog ran", "on the mat", "to the sea", "and back"];
    let line = |i: usize| format!("{}\n", words[i * i % 7 % 5]);
    fs::write(folder.join("a.txt"), (0..300).map(line).collect::<String>()).unwrap();
    let other = |i: usize| line(i).to_uppercase();
    fs::write(folder.join("b.txt"), (0..300).map(other).collect::<String>()).unwrap();
    folder
}

/// A small run with dropout, accumulation and a moving average.
fn config(folder: &Path, task: &str, set: &[&str]) -> RunConfig {
    let (task, data, own) = match task {
        "gpt" => ("gpt", "text = [\"a.txt\"]", "train.batch_size=2"),
        "bert" => ("bert", "text = [\"a.txt\"]\nunit = \"lines\"", "train.batch_tokens=40"),
        "translate" => ("translate", "source = \"a.txt\"\ntarget = \"b.txt\"", "model.heads=2"),
        "rnn" => ("translate", "source = \"a.txt\"\ntarget = \"b.txt\"", "model.arch=rnn"),
        other => panic!("{other}"),
    };
    let tokens = (task == "translate").then_some("train.batch_tokens=60");
    let text = format!(
        "task = \"{task}\"\n[data]\n{data}\n[model]\nlayers = 1\nhidden_size = 16\n\
         context_length = 32\ndropout = 0.1\n[train]\nsteps = {STEPS}\nlr = 0.01\n\
         warmup_steps = 5\nvalidate_every = 20\ncheckpoint_every = 20\nsamples = 1\nema = 0.9\n\
         micro_batches = 4\ngradient_accumulation_steps = 2\n"
    );
    // The ranks of a test are threads, and each reads its own configuration.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder.join(format!("{task}.toml"));
    fs::write(&path, text).unwrap();
    let set = [own].into_iter().chain(tokens).chain(set.iter().copied());
    RunConfig::read(&path, &set.map(String::from).collect::<Vec<_>>(), None).unwrap()
}

/// One session on `ranks` ranks; `stop` is the step at which the last rank asks to stop.
fn session(config: &RunConfig, run: &Path, ranks: usize, stop: Option<u64>) -> Vec<Outcome> {
    threads::run(ranks, |communicator| {
        let world = World::new(Box::new(communicator));
        let is_last = world.rank() + 1 == ranks;
        let mut opened = open_in(
            world,
            vec![("program".into(), "this test".into())],
            config.clone(),
            run,
            RunStart::Resume,
            &mut |_| {},
        )
        .unwrap();
        opened
            .run
            .train(&mut |event| match event {
                TrainEvent::Step(report) if is_last && Some(report.step) == stop => Control::Stop,
                _ => Control::Continue,
            })
            .unwrap()
    })
}

/// What must not differ: the last checkpoint, the best model, and the metrics without times.
fn digest(run: &Path) -> (Vec<u8>, Vec<u8>, String) {
    let last = run.join(format!("checkpoints/step-{STEPS:08}/state.safetensors"));
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    let without_times = metrics.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let keys = line.as_object_mut().unwrap();
        keys.retain(|key, _| key != "seconds" && key != "tokens_per_second");
        format!("{line}\n")
    });
    let model = fs::read(run.join("model/model.safetensors")).unwrap();
    (fs::read(last).unwrap(), model, without_times.collect())
}

fn same_bytes_in_every_world(task: &str) {
    let folder = scratch(task);
    let mut want = None;
    for ranks in 1..=4 {
        for threads in [1, 2] {
            team::set_threads(threads);
            // In worlds of three and four every rank keeps all moments, in the others its slice.
            let sharding = format!("train.shard_optimizer={}", ranks < 3 || threads == 2);
            let config = config(&folder, task, &[&sharding]);
            let run = folder.join(format!("run-{ranks}-{threads}"));
            assert_eq!(session(&config, &run, ranks, None), vec![Outcome::Completed; ranks]);
            let found = digest(&run);
            let want = want.get_or_insert_with(|| found.clone());
            assert!(found.0 == want.0, "{task}: other weights on {ranks} ranks, {threads} threads");
            assert!(found.1 == want.1, "{task}: another model on {ranks} ranks");
            assert_eq!(found.2, want.2, "{task}: other metrics on {ranks} ranks");
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_language_model_has_the_same_bytes_at_any_number_of_ranks_and_threads() {
    same_bytes_in_every_world("gpt");
}

#[test]
fn a_masked_language_model_has_the_same_bytes_at_any_number_of_ranks_and_threads() {
    same_bytes_in_every_world("bert");
}

#[test]
fn a_translator_has_the_same_bytes_at_any_number_of_ranks_and_threads() {
    same_bytes_in_every_world("translate");
}

#[test]
fn a_recurrent_translator_has_the_same_bytes_at_any_number_of_ranks_and_threads() {
    same_bytes_in_every_world("rnn");
}

#[test]
fn a_run_resumes_in_worlds_of_other_sizes_with_the_bytes_of_an_uninterrupted_one() {
    let folder = scratch("resume");
    let config = config(&folder, "gpt", &[]);
    let (whole, stopped) = (folder.join("whole"), folder.join("stopped"));
    session(&config, &whole, 1, None);
    for (ranks, stop) in [(3, 7), (1, 12), (4, 25), (2, 33)] {
        let ended = session(&config, &stopped, ranks, Some(stop));
        assert_eq!(ended, vec![Outcome::Interrupted; ranks]);
        // In a world, all ranks stop one step after the one that asks.
        let last = stop + u64::from(ranks > 1);
        assert!(stopped.join(format!("checkpoints/step-{last:08}")).is_dir(), "{ranks}");
    }
    session(&config, &stopped, 3, None);
    assert!(digest(&stopped) == digest(&whole));
    fs::remove_dir_all(&folder).unwrap();
}

/// The errors of all ranks, whose settings and program may differ.
fn refused(
    folder: &Path,
    ranks: usize,
    own: impl Fn(usize) -> (RunConfig, &'static str) + Sync,
) -> Vec<Error> {
    threads::run(ranks, |communicator| {
        let world = World::new(Box::new(communicator));
        let (config, program) = own(world.rank());
        let identity = vec![("program".into(), program.into())];
        let run = folder.join("run");
        open_in(world, identity, config, &run, RunStart::New, &mut |_| {}).err().unwrap()
    })
}

#[test]
fn ranks_that_would_compute_something_else_are_refused_by_name() {
    let folder = scratch("refused");
    let own = |set: &str| config(&folder, "gpt", &[set]);
    let messages =
        |errors: Vec<Error>| errors.iter().map(ToString::to_string).collect::<Vec<String>>();
    let found = messages(refused(&folder, 3, |rank| {
        (own("train.lr=0.5"), if rank == 2 { "another" } else { "this test" })
    }));
    assert_eq!(found, ["rank 2 has another program than rank 0: another, not this test"; 3]);
    let found = messages(refused(&folder, 2, |rank| {
        (own(if rank == 1 { "train.lr=0.5" } else { "train.lr=0.25" }), "this test")
    }));
    assert_eq!(found, ["rank 1 has another value of train.lr than rank 0: 0.5, not 0.25"; 2]);
    let errors = refused(&folder, 5, |_| (own("train.lr=0.5"), "this test"));
    for error in errors {
        assert!(matches!(
            error,
            Error::Distributed(DistributedError::TooManyRanks { ranks: 5, micro_batches: 4 })
        ));
    }
    // Another text at the same path, as on a machine with a disk of its own.
    let found = messages(refused(&folder, 2, |rank| {
        let copy = folder.join(format!("on-{rank}.txt"));
        fs::write(&copy, format!("{rank}\n").repeat(50)).unwrap();
        let mut config = own("train.lr=0.5");
        config.each_path(|path| *path = copy.clone());
        (config, "this test")
    }));
    assert!(found[0] == found[1] && found[0].contains("rank 1 has another"), "{found:?}");
    assert!(!folder.join("run").exists(), "nothing is left behind");
    fs::remove_dir_all(&folder).unwrap();
}
