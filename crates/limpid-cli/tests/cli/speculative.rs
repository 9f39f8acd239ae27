//! `limpid generate --draft`, `--prompt-lookup` and `--kv-cache-dtype`, from outside.

use super::*;
use limpid::model::Model;
use limpid::model::config::DecoderConfig;
use limpid::text::word_tokenizer;

const WORDS: &str = "the cat sat on the mat and the dog lay on the rug.";

/// A language model with as many layers, that reads 48 tokens.
fn gpt(name: &str, words: &str, layers: usize) -> PathBuf {
    let folder = scratch(name);
    let tokenizer = word_tokenizer([words]).unwrap();
    let config = DecoderConfig::gpt2(tokenizer.vocab_size(), 48, layers, 2, 16);
    let mut model = Model::new(config, layers as u64).unwrap();
    model.params.flat_mut().iter_mut().for_each(|x| *x *= 12.0);
    tokenizer.save(&folder).unwrap();
    limpid::hub::save(&model, &folder).unwrap();
    folder
}

#[test]
fn a_draft_changes_no_greedy_text_and_one_of_another_vocabulary_is_refused() {
    let (model, draft) = (gpt("speculative", WORDS, 2), gpt("speculative-draft", WORDS, 1));
    let (model, draft) = (model.to_str().unwrap(), draft.to_str().unwrap());
    let generate = |more: &[&str]| {
        let prompt = ["generate", model, "--prompt", "the cat sat on the", "--json"];
        run(&[&prompt, more].concat())
    };
    let long = ["--max-new-tokens", "120", "--slide"];
    let plain = generate(&long);
    assert!(plain.status.success(), "{}", stderr(&plain));
    for flags in [
        &["--draft", draft][..],
        &["--draft", model, "--draft-tokens", "7"],
        &["--prompt-lookup", "3"],
    ] {
        let output = generate(&[&long[..], flags].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(stdout(&output), stdout(&plain), "{flags:?}");
    }
    let sampled = generate(&["--draft", draft, "--temperature", "0.9", "--seed", "3"]);
    assert!(sampled.status.success(), "{}", stderr(&sampled));
    let other = gpt("speculative-other", "a red flag is a sign!", 1);
    let renamed = gpt("speculative-renamed", &WORDS.replace("rug", "bed"), 1);
    let refusals: [(&[&str], &str, &str); 6] = [
        (&["--draft", other.to_str().unwrap()], "vocabulary", "--prompt-lookup"),
        (&["--draft", renamed.to_str().unwrap()], "for the draft model", "tokenizer"),
        (&["--draft", draft, "--draft-tokens", "0"], "num_assistant_tokens 0", ""),
        (&["--prompt-lookup", "100"], "prompt_lookup_num_tokens 100", ""),
        (&["--draft", draft, "--num-beams", "2"], "beam search", "--num-beams"),
        (&["--prompt-lookup", "2", "--trace", "-"], "cannot be traced", "--trace"),
    ];
    for (flags, error, hint) in refusals {
        refused(&generate(flags), error, hint);
    }
    for wrong in [&["--draft-tokens", "3"][..], &["--draft", draft, "--prompt-lookup", "3"]] {
        assert_eq!(generate(wrong).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn keys_and_values_can_be_stored_in_less_memory_where_there_are_some() {
    let folder = gpt("kv-cache", WORDS, 2);
    for dtype in ["f32", "f16", "int8"] {
        let model = folder.to_str().unwrap();
        let flags = ["--prompt", "the cat", "--max-new-tokens", "20", "--kv-cache-dtype", dtype];
        let output = run(&[&["generate", model], &flags[..]].concat());
        assert!(output.status.success() && !stdout(&output).is_empty(), "{}", stderr(&output));
        let output =
            run(&["translate", model_folder(), "Je suis étudiant", "--kv-cache-dtype", dtype]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let wrong = ["generate", folder.to_str().unwrap(), "--kv-cache-dtype", "int3"];
    assert_eq!(run(&wrong).status.code(), Some(2));
}

fn model_folder() -> &'static str {
    model().to_str().unwrap()
}
