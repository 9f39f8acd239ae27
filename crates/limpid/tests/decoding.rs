//! The same tokens as `transformers`: greedy search, beam search, rules and filters, on briefly trained models.

use limpid::decode::filter::{Filter, probabilities};
use limpid::decode::{
    Beams, Choice, EarlyStopping, GptSession, LengthPenalty, Place, Rules, Seq2SeqSession, Session, Silent,
    Writing, beam_search, write,
};
use limpid::hub;
use limpid::model::{Architecture, Model};
use serde_json::Value;
use std::path::{Path, PathBuf};

const END: u32 = 1;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/fixtures").join(name)
}

fn cases(name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder(name).join("cases.json")).unwrap()).unwrap()
}

fn ids(value: &Value) -> Vec<u32> {
    value.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect()
}

fn lists(value: &Value) -> Vec<Vec<u32>> {
    value.as_array().unwrap().iter().map(ids).collect()
}

fn number(settings: &Value, key: &str, default: f64) -> f64 {
    settings.get(key).map_or(default, |value| value.as_f64().unwrap())
}

fn rules(settings: &Value) -> Rules {
    let size = |key: &str| settings.get(key).map(|value| value.as_u64().unwrap() as usize);
    Rules {
        repetition_penalty: number(settings, "repetition_penalty", 1.0) as f32,
        no_repeat_ngram: size("no_repeat_ngram_size"),
        never: settings.get("bad_words_ids").map_or(vec![vec![0]], lists),
        ends: vec![END],
        min_new: size("min_new_tokens").unwrap_or(0),
        min_length: 0,
        forced_end: size("forced_eos_token_id").map(|id| id as u32),
    }
}

fn beams(settings: &Value) -> Option<Beams> {
    let count = |key: &str| settings.get(key).map(|value| value.as_u64().unwrap() as usize);
    let stopping = match &settings["early_stopping"] {
        Value::Bool(true) => EarlyStopping::AtOnce,
        Value::String(text) if text == "never" => EarlyStopping::Never,
        _ => EarlyStopping::Heuristic,
    };
    Some(Beams {
        beams: count("num_beams")?,
        penalty: LengthPenalty::Power(number(settings, "length_penalty", 1.0) as f32),
        stopping,
        nbest: count("num_return_sequences").unwrap_or(1),
    })
}

/// New tokens without the end token, and their score.
type Written = Vec<(Vec<u32>, f32)>;

/// What we write for some prompts in one batch.
fn ours(model: &Model, prompts: &[Vec<u32>], settings: &Value, new: usize) -> Vec<Written> {
    match &model.architecture {
        Architecture::Gpt(gpt) => {
            let session = GptSession::new(gpt, &model.params, prompts.len(), 24);
            search(session, prompts, settings, new)
        }
        Architecture::Seq2Seq(seq2seq) => {
            let start = vec![vec![seq2seq.config().decoder_start_token_id]; prompts.len()];
            search(Seq2SeqSession::new(seq2seq, &model.params, prompts, 24), &start, settings, new)
        }
    }
}

fn search(mut session: impl Session, prompts: &[Vec<u32>], settings: &Value, new: usize) -> Vec<Written> {
    let (rules, limits) = (rules(settings), vec![new; prompts.len()]);
    if let Some(beams) = beams(settings) {
        let found = beam_search(&mut session, prompts, &limits, &beams, &rules, &mut Silent).unwrap();
        return found
            .into_iter()
            .map(|best| best.into_iter().map(|h| (h.tokens, h.score)).collect())
            .collect();
    }
    let mut writings: Vec<Writing> =
        prompts.iter().enumerate().map(|(i, prompt)| Writing::new(prompt, new, i)).collect();
    write(&mut session, &mut writings, Choice::Largest, &rules, &mut Silent).unwrap();
    writings.iter().map(|w| vec![(w.written().to_vec(), 0.0)]).collect()
}

/// `transformers` keeps the end token, we do not.
fn without_end(mut tokens: Vec<u32>) -> Vec<u32> {
    tokens.retain(|token| *token != END);
    tokens
}

#[track_caller]
fn agrees_with_transformers(name: &str) {
    let (model, warnings) = hub::load(&folder(name)).unwrap();
    assert_eq!(warnings, []);
    let expected = cases(name);
    let (prompts, new) = (lists(&expected["prompts"]), expected["new_tokens"].as_u64().unwrap() as usize);
    let (mut compared, mut differ, mut beam_cases) = (0, 0, 0);
    let mut greedy = Vec::new();
    for case in expected["cases"].as_array().unwrap() {
        let settings = &case["settings"];
        let together = ours(&model, &prompts, settings, new);
        for (i, prompt) in prompts.iter().enumerate() {
            let want: Vec<Vec<u32>> = lists(&case["sequences"][i]).into_iter().map(without_end).collect();
            let got: Vec<Vec<u32>> = together[i].iter().map(|(tokens, _)| tokens.clone()).collect();
            assert_eq!(got, want, "{name}, {settings}, prompt {i}");
            if let Some(scores) = case.get("scores") {
                for ((_, got), want) in together[i].iter().zip(scores[i].as_array().unwrap()) {
                    let want = want.as_f64().unwrap() as f32;
                    assert!(
                        (got - want).abs() < 1e-4,
                        "{name}, {settings}, prompt {i}: score {got}, not {want}"
                    );
                }
            }
            // Alone or in a batch of twelve: the same.
            let alone = ours(&model, std::slice::from_ref(prompt), settings, new).remove(0);
            assert_eq!(
                alone.iter().map(|(tokens, _)| tokens.clone()).collect::<Vec<_>>(),
                got,
                "{settings}, alone"
            );
            if settings.as_object().unwrap().is_empty() {
                greedy.push(got[0].clone());
            } else if settings.get("num_beams").is_some() {
                beam_cases += 1;
                differ += usize::from(got[0] != greedy[i]);
            }
            compared += got.len();
        }
    }
    assert!(compared >= 400, "only {compared} sequences were compared");
    assert!(differ * 10 >= beam_cases * 3, "beam search must matter: it changed {differ} of {beam_cases}");
}

#[test]
fn a_gpt_writes_the_tokens_of_transformers_greedily_and_with_beams() {
    agrees_with_transformers("decoding-gpt2");
}

#[test]
fn a_translator_writes_the_tokens_of_transformers_greedily_and_with_beams() {
    agrees_with_transformers("decoding-marian");
}

#[test]
fn rules_and_filters_give_the_distribution_of_transformers() {
    let expected = cases("decoding-filters");
    let prompt = expected["prompt"].as_u64().unwrap() as usize;
    let floats = |value: &Value| -> Vec<f32> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
    };
    let cases = expected["cases"].as_array().unwrap();
    assert!(cases.len() >= 30);
    for case in cases {
        let settings = &case["settings"];
        let mut rules = rules(settings);
        if settings.get("bad_words_ids").is_none() {
            rules.never.clear();
        }
        let filter = Filter {
            temperature: number(settings, "temperature", 1.0) as f32,
            top_k: settings.get("top_k").map(|k| k.as_u64().unwrap() as usize),
            top_p: number(settings, "top_p", 1.0) as f32,
        };
        let (mut scores, text) = (floats(&case["logits"]), ids(&case["history"]));
        rules.apply(&mut scores, Place { text: &text, new: text.len() - prompt, limit: 100 });
        filter.apply(&mut scores);
        for (id, (got, want)) in probabilities(&scores).iter().zip(floats(&case["probabilities"])).enumerate()
        {
            assert_eq!(*got == 0.0, want == 0.0, "{settings}: token {id} is in one set only");
            assert!((got - want).abs() < 1e-5, "{settings}: p[{id}] is {got}, transformers has {want}");
        }
    }
}
