//! Text generation.

use super::available;
use limpid::error::GenerationError as E;

pub(super) fn hint(error: &E) -> Option<String> {
    Some(match error {
        E::OutOfRange { key, expected, .. } => out_of_range(key, expected),
        E::BeamSampling { option: "do_sample", .. } => {
            "choose one of them with --temperature 1 or --num-beams 4".into()
        }
        E::BeamSampling { .. } => {
            "leave out --num-beams, or --do-sample, --temperature, --top-k, --top-p and --seed"
                .into()
        }
        E::TooManySequences { num_return_sequences, num_beams: 1 } => {
            format!("use --num-beams {num_return_sequences}, or --do-sample")
        }
        E::TooManySequences { num_return_sequences, .. } => {
            format!("use --num-beams {num_return_sequences}")
        }
        E::IdenticalSequences { .. } => {
            "use --temperature 0.7, or leave out --num-return-sequences".into()
        }
        E::TwoLengthPenalties => "use --length-penalty or --gnmt-length-penalty".into(),
        E::BeamSearchOnly { .. } => "use --num-beams 4 with it, or leave it out".into(),
        E::MinExceedsMax { max_new_tokens, .. } => {
            format!("--min-new-tokens {max_new_tokens} at most, or a larger --max-new-tokens")
        }
        E::TokenBeyondVocabulary { .. } => {
            "the ids come from generation_config.json: does it belong to this model?".into()
        }
        E::NoKvCache { .. } => "leave out --kv-cache-dtype".into(),
        E::DraftVocabularySize { .. } | E::DraftToken { .. } => {
            "a draft model is trained with the tokenizer of the model; --prompt-lookup 8 needs none"
                .into()
        }
        E::TwoDrafts => "use --draft or --prompt-lookup".into(),
        E::NoDraft => "give the draft model with --draft".into(),
        E::SpeculativeBeamSearch => {
            "leave out --num-beams (--num-beams 1 overrides the model's files), or the draft".into()
        }
        E::SpeculativeTrace => "leave out --trace, or the draft".into(),
        E::EmptyStopString => "leave --stop-strings out, or give some text".into(),
        E::TokenizerMismatch { .. } => {
            "tokenizer.json and config.json in this folder do not belong together".into()
        }
        E::NotANumber { .. } => "the model's weights are damaged or too large".into(),
        E::NoCandidates { .. } => format!(
            "use a larger --no-repeat-ngram-size, or a smaller {}",
            available(&["--max-new-tokens", "--min-new-tokens"])
        ),
        E::EmptyPrompt { .. } => match available(&["--prompt"]).as_str() {
            "" => "the chat template gives no text for this conversation".into(),
            flag => format!("give it something to continue: {flag} \"Once upon a time\""),
        },
        E::PromptTooLong { .. } => "shorten it, or use --slide to drop its beginning".into(),
        E::ContextExceeded { tokens, context, beam_search, .. } => {
            let available = (context + 1).saturating_sub(*tokens);
            match beam_search {
                true => format!("use --max-new-tokens {available}; beam search cannot slide"),
                false => format!("use --max-new-tokens {available}, or --slide"),
            }
        }
        E::MaxLengthReached { .. } => "set the number of new tokens: --max-new-tokens 50".into(),
        E::SourceTooLong { .. } => "translate it sentence by sentence".into(),
        E::PrefixOutOfVocabulary { .. } => {
            "a translation can only begin with words of the model's vocabulary".into()
        }
        E::PrefixSpecialToken { .. } => "leave it out".into(),
        E::PrefixTooLong { .. } => {
            let shorter = available(&["--max-new-tokens", "--min-new-tokens", "--prefix"]);
            format!("use a smaller or shorter {shorter}")
        }
        E::NoAttention => "a Transformer has it, and so has a recurrent model with dot or \
                           additive attention"
            .into(),
        _ => return None,
    })
}

/// What to use instead of a value that is out of range.
fn out_of_range(key: &str, expected: &str) -> String {
    let flag = available(&[&format!("--{}", key.replace('_', "-"))]);
    let allowed = expected.trim_start_matches("in ");
    match key {
        "temperature" => {
            "use 0 for the most likely token, 1 to leave the distribution alone".into()
        }
        "top_k" => "use 1 or more, or leave it out".into(),
        "top_p" => "0.9 to 0.95 are common; 1 keeps every token".into(),
        "repetition_penalty" => "1 changes nothing, 1.1 to 1.3 are common".into(),
        "no_repeat_ngram_size" => "use --no-repeat-ngram-size 3, or leave it out".into(),
        "length_penalty" | "gnmt_length_penalty" => {
            "1 is the default; 0 compares sums, larger values favour longer texts".into()
        }
        "max_new_tokens" | "min_new_tokens" => {
            format!("is there a digit too many? {flag} 100 is common")
        }
        _ if flag.is_empty() => format!("use {allowed}"),
        _ => format!("use {flag} {allowed}, or leave it out"),
    }
}
