//! Worked examples, built-in corpora, experiments. An option of an example with the key `heads` is
//! the flag `--heads`.

use limpid_learn::Error;
use limpid_learn::error::{CorpusError, ExampleError, Expected, ExperimentError, Setting};

/// What to do about an error, if anything can be said.
pub fn hint(error: &Error) -> Option<String> {
    match error {
        Error::Library(error) => super::hint(error),
        Error::Example(error) => example(error),
        Error::Corpus(error) => Some(corpus(error).to_owned()),
        Error::Experiment(error) => experiment(error),
        _ => None,
    }
}

fn flags(keys: &[&str]) -> String {
    keys.iter().map(|key| format!("--{key}")).collect::<Vec<_>>().join(", ")
}

fn plural(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

fn example(error: &ExampleError) -> Option<String> {
    use ExampleError as E;
    Some(match error {
        E::Unknown { nearest, examples, .. } => {
            let suggestion = nearest.map_or(String::new(), |n| format!("did you mean '{n}'? "));
            format!(
                "{suggestion}the examples are {}, or 1 to {}",
                examples.join(", "),
                examples.len()
            )
        }
        E::UnknownOption { nearest, options, .. } => {
            let suggestion = nearest.map_or(String::new(), |n| format!("did you mean --{n}? "));
            format!("{suggestion}its options are {}", flags(options))
        }
        E::Duplicate { option } => format!("give --{option} once"),
        E::Empty { option } => format!("leave --{option} out to use its default"),
        E::OutOfRange { option: "padding", expected: Expected::ZeroOrOne, .. } => {
            "write 1 for a word and 0 for padding".into()
        }
        E::OutOfRange { expected: expected @ Expected::Integer(..), .. } => {
            format!("use {expected}")
        }
        E::OutOfRange { expected, .. } => format!("use a number {expected}"),
        E::NotOneNumber { option, .. } => format!("write --{option} and a single number"),
        E::NotOneWord { option, default, .. } => {
            format!("write --{option} and a single word, such as --{option} {default}")
        }
        E::UnknownChoice { option, nearest, .. } => format!("use --{option} {nearest}"),
        E::LabelCount { item, .. } => format!("give one word for each {item}"),
        E::Shape { option, rows, cols, .. } => {
            let rows = rows.map_or("rows".to_owned(), |n| plural(n, "row"));
            let cols = cols.map_or("any number of".to_owned(), |n| n.to_string());
            format!("give --{option} {rows} of {cols} numbers")
        }
        E::Length { option, expected, .. } => {
            format!("give --{option} {}", plural(*expected, "number"))
        }
        E::Heads { divisors, .. } => {
            let divisors: Vec<String> = divisors.iter().map(usize::to_string).collect();
            format!("use --heads {}", divisors.join(" or "))
        }
        E::PositionWidth { .. } => {
            "leave --width out: positions are as wide as the tokens they are added to".into()
        }
        E::OddWidth { option: "width", width } => {
            format!("use --width {} or {}", width - 1, width + 1)
        }
        E::OddWidth { option, width } => format!("give --{option} {} numbers per row", width + 1),
        E::TooFewPositions { tokens, .. } => format!("use --length {tokens}"),
        E::OutOfVocabulary { vocabulary, .. } => format!("use one of: {}", vocabulary.join(", ")),
        E::WordNotInSentence { .. } => {
            "--first, --second and --word go together: a word that both sentences contain".into()
        }
        E::NoVariance { option, default } => {
            format!("give rows that differ in every column: --{option} \"{default}\"")
        }
        other => return fixed(other).map(String::from),
    })
}

/// Hints without fields.
fn fixed(error: &ExampleError) -> Option<&'static str> {
    use ExampleError as E;
    Some(match error {
        E::TooMany { .. } => "use a smaller example: it has to fit a screen",
        E::NotANumber { .. } => {
            "write numbers like 2, -0.5 or 1e-3, with spaces between them and ; between rows"
        }
        E::NotFinite { .. } => "a mask is set by its own option, not by writing -inf",
        E::TooLarge { .. } => "use smaller numbers: the examples are for reading",
        E::EmptyRow { .. } => "write numbers between two semicolons, or remove one semicolon",
        E::RaggedRow { .. } => "give every row as many numbers; rows are separated by ;",
        E::NotOneRow { .. } => "remove the semicolons",
        E::ControlCharacter { .. } => "use printable words",
        E::LongWord { .. } => "use a shorter word: it labels every row",
        E::NotADistribution { .. } => "change the probabilities so that they sum to 1",
        _ => return None,
    })
}

fn corpus(error: &CorpusError) -> &'static str {
    match error {
        CorpusError::NotAStory { .. } => {
            "limpid corpus stories writes the built-in stories; the bounds are known for those only"
        }
        CorpusError::NoStories => "limpid corpus stories writes them, one per line",
        CorpusError::TooLong { .. } => "train one with --set model.context_length=192",
        CorpusError::NoMaskToken => "train its tokenizer with --for bert",
        CorpusError::NotWordLevel { .. } => {
            "whole words are masked: train the model with a word tokenizer, --set \
             tokenizer.kind=word"
        }
        _ => "limpid corpus stories writes the built-in stories",
    }
}

fn experiment(error: &ExperimentError) -> Option<String> {
    Some(match error {
        ExperimentError::Unknown { experiments, .. } => {
            format!("the experiments are {}", experiments.join(", "))
        }
        ExperimentError::NoSuchSetting { settings, .. } => {
            let flags: Vec<String> =
                settings.iter().map(|setting| format!("--{}", setting.name())).collect();
            match flags.is_empty() {
                true => "it has no settings".into(),
                false => format!("it has {}", flags.join(" and ")),
            }
        }
        ExperimentError::Steps { found, min, .. } if found < min => {
            format!("use --steps {min} or more; --quick shows how it works in seconds")
        }
        ExperimentError::Steps { max, .. } => {
            format!("use --steps {max} or less; hundreds to thousands are enough")
        }
        ExperimentError::OutOfMemory { max, .. } => format!("--{} {max} fits", Setting::Width),
        ExperimentError::Width { nearest, .. } => format!("use --{} {nearest}", Setting::Width),
        ExperimentError::Stopped => "nothing was written; --quick takes seconds".into(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use limpid_learn::explain::{Inputs, examples, explain, find};

    fn hint_of(example: &str, options: &[(&str, &str)]) -> String {
        let error = Inputs::parse(example, options)
            .and_then(|inputs| explain(example, &inputs))
            .expect_err("refused");
        hint(&error).unwrap_or_else(|| panic!("no hint for: {error}"))
    }

    #[test]
    fn every_refused_input_of_an_example_has_a_hint_that_names_the_flag_or_the_remedy() {
        let long = "1 ".repeat(65);
        for (example, option, text, remedy) in [
            ("self-attention", "tokens", "1 0 1; 0 1", "separated by ;"),
            ("self-attention", "tokens", "1 0; 0 x1", "write numbers like"),
            ("self-attention", "tokens", "1 nan", "mask"),
            ("self-attention", "tokens", "1 1e39", "smaller"),
            ("self-attention", "tokens", "", "leave --tokens out"),
            ("self-attention", "tokens", "1 2; ; 3 4", "semicolon"),
            ("self-attention", "tokens", &long, "smaller"),
            ("self-attention", "words", "The CAT", "one word for each token"),
            ("self-attention", "words", "a\u{1b}[2J b c", "printable"),
            ("self-attention", "words", "abcdefghijklmnopqrstuvwxyz b c", "shorter"),
            ("self-attention", "w-q", "1 0; 0 1", "give --w-q 4 rows of any number of numbers"),
            ("self-attention", "w-k", "1; 1; 1; 1", "of 4 numbers"),
            ("self-attention", "mask", "casual", "use --mask causal"),
            (
                "self-attention",
                "toknes",
                "1",
                "did you mean --tokens? its options are --tokens, --w",
            ),
            ("scaling", "query", "1 2; 3 4", "semicolons"),
            ("causal-mask", "length", "0", "use a whole number from 1 to 16"),
            ("causal-mask", "zz", "1", "its options are --length"),
            ("padding-mask", "padding", "1 1 0", "give --padding 4 numbers"),
            ("padding-mask", "padding", "1 1 1 0.5", "1 for a word"),
            ("padding-mask", "padding", "1 1 1 2", "0 to 1"),
            ("multi-head", "heads", "3", "--heads 1 or 2 or 4"),
            ("cross-attention", "memory-words", "Je", "one word for each source"),
            ("positions", "width", "5", "use --width 4 or 6"),
            ("positions", "tokens", "1 2 3", "give --tokens 4 numbers per row"),
            ("layer-norm", "eps", "0", "use a number in"),
            ("layer-norm", "eps", "1e-5 1e-6", "single"),
            ("layer-norm", "houses", "1 2; 1 3", "--houses \"1200"),
            ("output-layer", "word", "merci", "a, am, I, thanks"),
            ("output-layer", "word", "am I", "--word am"),
            ("context", "word", "zebra", "--first, --second and --word"),
            ("cross-entropy", "target", "2", "from 0 to 1"),
            ("roulette", "probabilities", "0.5 0.2", "sum to 1"),
            ("decoding", "top-k", "1.5", "use a whole number from 1 to 64"),
            ("decoding", "temperature", "-1", "at least 0"),
        ] {
            let found = hint_of(example, &[(option, text)]);
            assert!(found.contains(remedy), "{example} {option} {text:?}: {found}");
        }
        assert!(
            hint_of("positions", &[("width", "6"), ("tokens", "1 2")]).contains("leave --width")
        );
        assert_eq!(
            hint_of("positions", &[("length", "1"), ("tokens", "1 2; 3 4")]),
            "use --length 2"
        );
        assert_eq!(hint_of("layer-norm", &[("row", "1 2"), ("rows", "3 4")]), "give --rows once");
    }

    #[test]
    fn an_unknown_example_is_answered_with_the_nearest_and_all() {
        let hint_of = |name: &str| hint(&find(name).err().unwrap()).unwrap();
        let found = hint_of("self-atention");
        assert!(found.starts_with("did you mean 'self-attention'?"), "{found}");
        assert!(examples().iter().all(|example| found.contains(example.name)), "{found}");
        let found = hint_of("zzz");
        assert!(found.starts_with("the examples are self-attention, scaling"), "{found}");
    }
}
