//! Byte-pair encoding (Sennrich et al. 2016): merges learned by the tokenizer trainer.

use super::{Walkthrough, strings, walkthrough};
use crate::error::{ExampleError, Expected, Result};
use crate::explain::inputs::{Arguments, plural};
use crate::explain::model::{Cell, Step, Table};
use crate::explain::number::short;
use limpid::text::train::{Shortage, TokenizerSpec, train};
use limpid::text::{Purpose, Tokenizer, TokenizerKind};

/// Pairs that are listed at each merge.
const LISTED: usize = 6;
/// The most counted occurrences of one word.
const MAX_COUNT: usize = 1000;

/// Words with their counts.
struct Corpus {
    words: Vec<String>,
    counts: Vec<usize>,
}

/// Two neighbouring tokens, and how often they occur side by side.
struct PairCount {
    pair: (String, String),
    count: usize,
    terms: Vec<String>,
}

impl Corpus {
    fn new(args: &Arguments) -> Result<Self> {
        let (words, counts) = (args.words("words"), args.row("counts"));
        args.check_length("counts", counts.len(), words.len(), "one for each word")?;
        if let Some(other) = counts.iter().find(|count| count.fract() != 0.0) {
            let (text, expected) = (short(*other), Expected::Integer(1, MAX_COUNT));
            return Err(ExampleError::OutOfRange { option: "counts", text, expected }.into());
        }
        Ok(Self { words, counts: counts.iter().map(|count| *count as usize).collect() })
    }

    /// A byte-level BPE tokenizer with at most so many merges.
    fn tokenizer(&self, merges: usize) -> Result<Tokenizer> {
        let spec = TokenizerSpec {
            purpose: Purpose::Bare,
            vocab_size: Some(256 + merges),
            min_frequency: 1,
            shortage: Shortage::Accept,
            ..TokenizerSpec::new(TokenizerKind::Bpe)
        };
        // Each occurrence is a text of its own: no spaces become part of a word.
        let texts = self.words.iter().zip(&self.counts);
        let texts =
            texts.flat_map(|(word, count)| std::iter::repeat_n(word.clone(), *count)).map(Ok);
        Ok(train(&spec, texts)?.tokenizer)
    }

    /// Counts of neighbouring tokens over all words, the most frequent first; of equals, the one
    /// with the lower token ids.
    fn pairs(&self, tokenizer: &Tokenizer) -> Result<Vec<PairCount>> {
        let mut found: Vec<((u32, u32), PairCount)> = Vec::new();
        for (word, count) in self.words.iter().zip(&self.counts) {
            for ids in tokenizer.encode(word)?.windows(2) {
                let key = (ids[0], ids[1]);
                let at = found.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
                    let pair = (tokenizer.token(key.0), tokenizer.token(key.1));
                    found.push((key, PairCount { pair, count: 0, terms: Vec::new() }));
                    found.len() - 1
                });
                found[at].1.count += count;
                found[at].1.terms.push(count.to_string());
            }
        }
        found.sort_by_key(|(key, pair)| (std::cmp::Reverse(pair.count), *key));
        Ok(found.into_iter().map(|(_, pair)| pair).collect())
    }

    /// The words as tokens.
    fn tokens(&self, title: &str, tokenizer: &Tokenizer) -> Result<Table> {
        let row = |(word, count): (&String, &usize)| {
            Ok(vec![Cell::from(*count), Cell::Text(tokenized(tokenizer, word)?)])
        };
        let cells = self.words.iter().zip(&self.counts).map(row).collect::<Result<_>>()?;
        Ok(Table::new(title, &self.words, &strings(&["count", "tokens"]), cells))
    }
}

/// "low er".
fn tokenized(tokenizer: &Tokenizer, word: &str) -> Result<String> {
    let tokens: Vec<String> =
        tokenizer.encode(word)?.into_iter().map(|id| tokenizer.token(id)).collect();
    Ok(tokens.join(" "))
}

pub fn byte_pair_encoding(args: &Arguments) -> Result<Walkthrough> {
    let corpus = Corpus::new(args)?;
    let word = args.word("encode")?;
    let mut tokenizers = vec![corpus.tokenizer(0)?];
    let mut steps = vec![
        Step::new("Characters", "every word is a sequence of characters (bytes, in UTF-8)")
            .why(
                "The vocabulary starts with all 256 bytes, so that no text is unknown. Counts are \
                 how often a word occurs in the training text.",
            )
            .table(corpus.tokens("", &tokenizers[0])?),
    ];
    for k in 1..=args.count("merges") {
        let pairs = corpus.pairs(&tokenizers[k - 1])?;
        // Words that are one token each have no pairs left.
        let Some(best) = pairs.first() else { break };
        let tokenizer = corpus.tokenizer(k)?;
        steps
            .push(merge_step(k, best, &pairs).table(corpus.tokens("after the merge", &tokenizer)?));
        tokenizers.push(tokenizer);
    }
    let merges = tokenizers.len() - 1;
    steps.push(encode_step(&tokenizers, &word)?);
    let introduction = format!(
        "Byte-pair encoding learns a vocabulary from {} with their counts: the most frequent pair \
         of neighbouring tokens becomes one token, {}. Frequent words become one token, rare ones \
         stay in parts.",
        plural(corpus.words.len(), "word"),
        if merges == 1 { "once".to_owned() } else { format!("{merges} times") }
    );
    Ok(walkthrough(introduction, steps))
}

fn merge_step(k: usize, best: &PairCount, pairs: &[PairCount]) -> Step {
    let (a, b) = &best.pair;
    let listed = &pairs[..pairs.len().min(LISTED)];
    let names: Vec<String> = listed.iter().map(|p| format!("{} {}", p.pair.0, p.pair.1)).collect();
    let cells = listed.iter().map(|p| vec![Cell::from(p.count)]).collect();
    let step = Step::new(
        format!("Merge {k}: {a} + {b} → {a}{b}"),
        "count(a, b) = Σ_words count(word) · occurrences of a b in it",
    )
    .table(Table::new("pairs", &names, &strings(&["count"]), cells))
    .remark(format!("{a} {b}: {} = {}.", best.terms.join(" + "), best.count));
    let ties = pairs.iter().filter(|pair| pair.count == best.count).count();
    step.when(ties > 1, |step| {
        step.remark(format!(
            "{ties} pairs have this count: the one whose first token has the lower id is merged, \
             then the one whose second has."
        ))
    })
}

/// A word that need not be in the corpus, with more and more merges.
fn encode_step(tokenizers: &[Tokenizer], word: &str) -> Result<Step> {
    let (mut names, mut cells, mut before) = (Vec::new(), Vec::new(), String::new());
    for (k, tokenizer) in tokenizers.iter().enumerate() {
        let tokens = tokenized(tokenizer, word)?;
        if tokens != before {
            names.push(if k == 0 { "characters".to_owned() } else { format!("merge {k}") });
            let count = tokenizer.encode(word)?.len();
            cells.push(vec![Cell::Text(tokens.clone()), Cell::from(count)]);
            before = tokens;
        }
    }
    Ok(Step::new(format!("Tokenize \"{word}\""), "apply the merges in the order they were learned")
        .why("The word need not occur in the training text: its parts do.")
        .table(Table::new("", &names, &strings(&["tokens", "number"]), cells)))
}
