//! Every example of `examples/` runs and does what it says.
// inspect_attention trains its model with train_translator, which is a module here, too.
#![allow(clippy::duplicate_mod)]

#[path = "../../examples/embed_and_search.rs"]
#[allow(dead_code)]
mod embed_and_search;
#[path = "../../examples/fine_tune_classifier.rs"]
#[allow(dead_code)]
mod fine_tune_classifier;
#[path = "../../examples/inspect_attention.rs"]
#[allow(dead_code)]
mod inspect_attention;
#[path = "../../examples/kv_cache_perplexity.rs"]
#[allow(dead_code)]
mod kv_cache_perplexity;
#[path = "../../examples/stream_tokens.rs"]
#[allow(dead_code)]
mod stream_tokens;
#[path = "../../examples/train_translator.rs"]
#[allow(dead_code)]
mod train_translator;

use limpid::error::Result;
use std::path::Path;

/// Runs an example in a folder of its own, which is removed afterwards.
fn in_folder<T>(name: &str, run: impl FnOnce(&Path) -> Result<T>) -> T {
    let folder = std::env::temp_dir().join(format!("limpid-example-{name}-{}", std::process::id()));
    let found = run(&folder);
    let _ = std::fs::remove_dir_all(&folder);
    found.unwrap()
}

#[test]
fn a_translator_is_trained_saved_loaded_and_translates() {
    let found = in_folder("translator", train_translator::run);
    assert_eq!(found[0], ("Je suis étudiant.".into(), "I am a student.".into()));
    assert_eq!(found[7], ("Merci.".into(), "Thank you.".into()));
}

#[test]
fn a_pretrained_encoder_is_fine_tuned_and_classifies_unseen_sentences() {
    for (text, label, probability) in in_folder("classifier", fine_tune_classifier::run) {
        let good = ["good", "great", "lovely"].iter().any(|mood| text.ends_with(mood));
        assert_eq!(label, if good { "positive" } else { "negative" }, "{text}");
        assert!(probability > 0.5);
    }
}

#[test]
fn a_search_ranks_the_document_that_shares_most_words_first() {
    let ranked = in_folder("search", embed_and_search::run);
    assert_eq!(ranked[0].1, "a dog ran to the tree");
}

#[test]
fn a_stream_gives_one_piece_per_token() {
    let pieces = in_folder("stream", stream_tokens::run);
    assert_eq!(pieces.concat(), " four five six seven eight");
    assert_eq!(pieces.len(), 5);
}

#[test]
fn attention_has_a_row_for_each_target_token_and_rows_sum_to_one() {
    let found = in_folder("attention", inspect_attention::run);
    assert!(found.translation.contains("apple"), "{}", found.translation);
    assert!(found.weights.iter().all(|row| (row.iter().sum::<f32>() - 1.0).abs() < 1e-4));
    assert_eq!(inspect_attention::table(&found).lines().count(), found.target.len() + 2);
}

#[test]
fn smaller_caches_of_keys_and_values_change_the_perplexity_a_little() {
    let found = in_folder("cache", kv_cache_perplexity::run);
    let [exact, f16, int8] = found[..] else { panic!("{found:?}") };
    // An untrained model of eleven tokens and the unknown one is about as good as chance.
    assert!((8.0..16.0).contains(&exact), "{exact}");
    assert!(f16 != exact && (f16 / exact - 1.0).abs() < 1e-4, "{found:?}");
    assert!(int8 != exact && (int8 / exact - 1.0).abs() < 1e-2, "{found:?}");
}
