//! The facade: loading, the same result from every thread, what it refuses, scores.

use limpid::error::{EncodeError, Error, InputProblem, PipelineError, Task};
use limpid::generate::{ContextOverflow, FinishReason, GenerationOptions};
use limpid::model::Model;
use limpid::model::config::{DecoderConfig, EncoderConfig, EncoderDecoderConfig, EncoderHead};
use limpid::pipeline::{EmbedderOptions, LongText};
use limpid::text::{Purpose, Tokenizer, word_tokenizer, word_tokenizer_for};
use limpid::{
    Classifier, Embedder, FillMask, Generator, QuestionAnswerer, Reranker, Scorer, TokenClassifier,
    Translator, hub,
};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

const TEXT: &str = "the cat sat on the mat and the dog ran to the tree";

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("limpid-pipeline-{name}-{}", std::process::id())))
    }
    fn save(&self, model: &Model, tokenizer: &Tokenizer) {
        hub::save(model, &self.0).unwrap();
        tokenizer.save(&self.0).unwrap();
    }
    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gpt(name: &str) -> Folder {
    let (folder, tokenizer) = (Folder::new(name), word_tokenizer([TEXT]).unwrap());
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 16, 2, 2, 16);
    folder.save(&Model::new(config, 3).unwrap(), &tokenizer);
    folder
}

fn translator(name: &str) -> Folder {
    let (folder, tokenizer) = (Folder::new(name), word_tokenizer([TEXT]).unwrap());
    let mut config = EncoderDecoderConfig::new(tokenizer.vocab_size(), 1, 2, 16, 16);
    config.max_position_embeddings = 16;
    folder.save(&Model::new(config, 3).unwrap(), &tokenizer);
    folder
}

fn encoder(name: &str, head: EncoderHead) -> Folder {
    let tokenizer = word_tokenizer_for([TEXT], Purpose::Encoder).unwrap();
    let folder = Folder::new(name);
    let config = EncoderConfig { head, ..EncoderConfig::new(tokenizer.vocab_size(), 12, 1, 2, 16) };
    folder.save(&Model::new(config, 3).unwrap(), &tokenizer);
    folder
}

fn long_text() -> String {
    "the cat sat ".repeat(20)
}

#[test]
fn every_type_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Generator>();
    shared::<Translator>();
    shared::<Embedder>();
    shared::<FillMask>();
    shared::<Classifier>();
    shared::<TokenClassifier>();
    shared::<QuestionAnswerer>();
    shared::<Reranker>();
    shared::<Scorer>();
}

#[test]
fn threads_that_share_a_model_get_what_one_thread_gets() {
    let folder = gpt("threads");
    let generator = Generator::load(&folder.0).unwrap();
    let generate = |seed| generator.prompt("the cat").temperature(1.2).seed(seed).generate();
    let alone: Vec<String> = (0..6).map(|seed| generate(seed).unwrap()).collect();
    let together: Vec<String> = std::thread::scope(|scope| {
        let start = |seed| scope.spawn(move || generate(seed).unwrap());
        let threads: Vec<_> = (0..6).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(together, alone);
    assert!(alone.iter().any(|text| *text != alone[0]), "samples that are alike prove nothing");
}

#[test]
fn a_run_folder_stands_for_the_model_in_it() {
    let (run, folder) = (Folder::new("run"), gpt("in-run"));
    std::fs::create_dir_all(&run.0).unwrap();
    std::fs::rename(&folder.0, run.0.join("model")).unwrap();
    let by_run = Generator::load(&run.0).unwrap().prompt("the").generate().unwrap();
    let by_model = Generator::load(run.0.join("model")).unwrap().prompt("the").generate().unwrap();
    assert_eq!(by_run, by_model);
}

#[test]
fn defaults_come_from_generation_config_and_options_override_them() {
    let folder = gpt("defaults");
    folder.write("generation_config.json", r#"{"max_new_tokens": 3, "num_beams": 2, "flux": 1}"#);
    let generator = Generator::load(&folder.0).unwrap();
    assert_eq!(generator.warnings().len(), 1, "an unknown key is not ignored in silence");
    let by_file = generator.prompt("the").generate_all().unwrap();
    assert_eq!(by_file[0].tokens.len(), 3);
    assert!(by_file[0].score.is_some(), "a beam search");
    let greedy = generator.prompt("the").num_beams(1).max_new_tokens(5).generate_all().unwrap();
    assert_eq!((greedy[0].tokens.len(), greedy[0].score), (5, None));
    assert_eq!(greedy[0].finish_reason, FinishReason::Length);
}

#[test]
fn a_batch_gives_what_each_prompt_gives_alone_and_a_stream_the_whole_text() {
    let folder = gpt("batch");
    let generator = Generator::load(&folder.0).unwrap();
    let options = GenerationOptions { top_k: Some(5), seed: Some(4), ..Default::default() };
    let prompts = ["the cat", "the dog ran to", "mat"];
    let batch = generator.generate_batch(&prompts, &options).unwrap();
    for (prompt, found) in prompts.iter().zip(batch) {
        let mut pieces = Vec::new();
        let request = generator.prompt(*prompt).options(options.clone());
        let streamed = request.stream(|piece| {
            pieces.push(piece.to_string());
            ControlFlow::Continue(())
        });
        assert_eq!(streamed.unwrap(), found[0].text);
        assert_eq!(pieces.concat(), found[0].text);
        assert!(pieces.len() > 3, "{pieces:?}");
    }
    let mut count = 0;
    let stopped = generator.prompt("the cat").max_new_tokens(8).stream(|_| {
        count += 1;
        if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let whole = generator.prompt("the cat").max_new_tokens(8).generate().unwrap();
    let stopped = stopped.unwrap();
    assert!(count == 2 && whole.starts_with(&stopped) && stopped.len() < whole.len());
}

#[test]
fn a_text_that_outgrows_the_context_is_an_error_or_slides() {
    let folder = gpt("slide");
    let generator = Generator::load(&folder.0).unwrap();
    let request = || generator.prompt("the cat").max_new_tokens(40);
    assert!(matches!(request().generate(), Err(Error::Generation(_))));
    let slid = request().overflow(ContextOverflow::Slide).generate_all().unwrap();
    assert_eq!(slid[0].tokens.len(), 40);
}

#[test]
fn a_translator_translates_batches_with_prefixes_and_n_best_lists() {
    let folder = translator("translate");
    let translator = Translator::load(&folder.0).unwrap();
    let texts = ["the cat sat", "", " ", "the dog ran to the tree"];
    let found = translator.translate(&texts).unwrap();
    assert_eq!((found[1].as_str(), found[2].as_str()), ("", ""));
    for (text, found) in texts.iter().zip(&found) {
        assert_eq!(translator.translate(&[text]).unwrap(), std::slice::from_ref(found), "alone");
    }
    let request = || translator.request(&["the cat"]).prefix("the dog").max_new_tokens(5);
    let best = request().num_beams(3).num_return_sequences(3).translate_all().unwrap();
    assert_eq!(best[0].len(), 3);
    assert!(best[0].iter().all(|translation| translation.text.starts_with("the dog")));
    assert!(best[0].is_sorted_by(|a, b| a.score >= b.score));
    let long = translator.overlength(&long_text()).unwrap().unwrap();
    assert_eq!((long.tokens, long.max_tokens, long.excess()), (61, 16, 45));
    let attention = translator.attention("the cat", &best[0][0].tokens).unwrap();
    assert_eq!(attention.source.len(), 3, "two words and the end token");
}

#[test]
fn a_model_for_another_task_is_refused_with_what_it_is_made_for() {
    let folders = [
        (gpt("wrong-gpt"), Task::Generation),
        (translator("wrong-translator"), Task::Translation),
        (encoder("wrong-encoder", EncoderHead::Pooler), Task::Embedding),
        (encoder("wrong-masked", EncoderHead::MaskedLm), Task::FillMask),
        (encoder("wrong-labels", labels()), Task::Classification),
    ];
    type Load = fn(&Path) -> Result<(), Error>;
    let loads: [(Task, Load, &[Task]); 6] = [
        (Task::Generation, |path| Generator::load(path).map(drop), &[Task::Generation]),
        (Task::Translation, |path| Translator::load(path).map(drop), &[Task::Translation]),
        (
            Task::Embedding,
            |path| Embedder::load(path).map(drop),
            &[Task::Embedding, Task::FillMask, Task::Classification],
        ),
        (Task::FillMask, |path| FillMask::load(path).map(drop), &[Task::FillMask]),
        (Task::Classification, |path| Classifier::load(path).map(drop), &[Task::Classification]),
        (
            Task::Scoring,
            |path| Scorer::load(path).map(drop),
            &[Task::Generation, Task::Translation],
        ),
    ];
    for (wanted, load, suitable) in loads {
        for (folder, is) in &folders {
            match load(&folder.0) {
                Ok(()) => assert!(suitable.contains(is), "{wanted:?} with {is:?}"),
                Err(Error::Pipeline(PipelineError::WrongModel { task, made_for, .. })) => {
                    assert!(!suitable.contains(is), "{wanted:?} with {is:?}");
                    assert_eq!((task, made_for), (wanted, *is));
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
    let error = Embedder::load(&folders[0].0.0).err().unwrap().to_string();
    assert!(error.ends_with("it cannot produce embeddings"), "{error}");
}

fn labels() -> EncoderHead {
    EncoderHead::Classifier(vec!["no".into(), "yes".into()].into())
}

#[test]
fn the_files_of_sentence_transformers_decide_pooling_case_and_length() {
    let folder = encoder("sentence", EncoderHead::Bare);
    folder.write("sentence_bert_config.json", r#"{"max_seq_length": 6, "do_lower_case": true}"#);
    std::fs::create_dir(folder.0.join("1_Pooling")).unwrap();
    folder.write("1_Pooling/config.json", r#"{"pooling_mode": "max"}"#);
    assert!(Embedder::load(&folder.0).is_err(), "a pooling that is not supported");
    let cls = Some(limpid::encode::Pooling::Cls);
    let by_option = EmbedderOptions { pooling: cls, ..Default::default() };
    let by_option = Embedder::load_with(&folder.0, by_option).unwrap();
    folder.write("1_Pooling/config.json", r#"{"pooling_mode": "cls"}"#);
    let embedder = Embedder::load(&folder.0).unwrap();
    let found = embedder.embed(&["The CAT", "the cat", "the dog"]).unwrap();
    assert_eq!(found[0], found[1], "lowercased");
    assert_eq!(found, by_option.embed(&["The CAT", "the cat", "the dog"]).unwrap());
    assert_eq!(found[0].len(), embedder.dimension());
    assert!((found[2].iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5, "unit length");

    // Six tokens: [CLS], four words, [SEP]; whatever the caller says, as in sentence-transformers.
    let cut = embedder.embed(&[long_text().as_str(), "the cat sat the"]).unwrap();
    assert_eq!(cut[0], cut[1]);
    assert_eq!(embedder.overlength(&long_text()).unwrap(), None);
}

#[test]
fn in_another_folder_the_caller_decides_about_long_texts() {
    let folder = encoder("long", EncoderHead::Bare);
    let embedder = Embedder::load(&folder.0).unwrap();
    let problem = match embedder.embed(&["the cat", &long_text()]) {
        Err(Error::Encode(EncodeError::Input { index: 1, problem })) => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem, InputProblem::TooLong { tokens: 62, max_tokens: 12 });
    assert_eq!(embedder.overlength(&long_text()).unwrap().unwrap().excess(), 50);
    let truncating = EmbedderOptions { long_text: LongText::Truncate, ..Default::default() };
    let truncating = Embedder::load_with(&folder.0, truncating).unwrap();
    let ten_words = "the cat sat the cat sat the cat sat the";
    let cut = truncating.embed(&[long_text().as_str(), ten_words]).unwrap();
    assert_eq!(cut[0], cut[1]);
    assert_eq!(truncating.overlength(&long_text()).unwrap(), None);
}

#[test]
fn a_classifier_ranks_labels_of_texts_and_pairs_and_a_masked_model_fills_masks() {
    let folder = encoder("classify", labels());
    let classifier = Classifier::load(&folder.0).unwrap();
    let found = classifier.classify(&["the cat", "the dog"]).unwrap();
    for ranked in &found {
        assert_eq!(ranked.len(), 2);
        assert!(ranked[0].score >= ranked[1].score);
        assert!((ranked[0].score + ranked[1].score - 1.0).abs() < 1e-6);
    }
    let pairs = classifier.classify_pairs(&[("the cat", "the dog")]).unwrap();
    assert_ne!(pairs[0][0].score, found[0][0].score);
    assert!(classifier.overlength("the cat", Some(&long_text())).unwrap().is_some());

    let folder = encoder("fill", EncoderHead::MaskedLm);
    let found = FillMask::load(&folder.0).unwrap().fill(&["the [MASK] sat [MASK]"], 2).unwrap();
    assert_eq!((found[0].len(), found[0][1].len()), (2, 2));
    assert!(found[0][0][0].text.ends_with("[MASK]") && !found[0][0][0].text.starts_with("the ["));
}

#[test]
fn a_score_is_the_loss_that_eval_computes() {
    use limpid::data::pairs::tokenize_pairs;
    use limpid::eval::loss::{pairs_loss, text_loss};
    let folder = gpt("score");
    let scorer = Scorer::load(&folder.0).unwrap();
    let limpid::model::Stack::Decoder(decoder) = &scorer.model().stack else { unreachable!() };
    // Longer than the context of 16: three windows.
    let text = TEXT.repeat(3);
    let ids = scorer.tokenizer().encode(&text).unwrap();
    let slice = |range: std::ops::Range<usize>| ids[range].to_vec();
    let want = text_loss((decoder, &scorer.model().params), slice, 0..ids.len(), 16);
    let score = scorer.score(&[&text]).unwrap().remove(0);
    assert_eq!(score.tokens.len(), want.tokens);
    assert!((score.loss() - want.mean()).abs() < 1e-5, "{} {}", score.loss(), want.mean());
    assert!((score.perplexity() - want.perplexity()).abs() < 1e-3);
    assert!(matches!(scorer.score_pairs(&[("a", "b")]), Err(Error::Pipeline(_))));

    let folder = translator("score-pairs");
    let scorer = Scorer::load(&folder.0).unwrap();
    let model = scorer.model().stack.translator().unwrap();
    let pairs = [("the cat", "the dog ran"), ("mat", "tree")];
    let ids = tokenize_pairs(scorer.tokenizer(), pairs, model.end()).unwrap();
    let want = pairs_loss((model, &scorer.model().params), ids);
    let scores = scorer.score_pairs(&pairs).unwrap();
    let sum: f64 = scores.iter().map(|score| -score.log_probability()).sum();
    assert!((sum - want.sum).abs() < 1e-4, "{sum} {}", want.sum);
    assert_eq!(scores.iter().map(|score| score.tokens.len()).sum::<usize>(), want.tokens);
}
