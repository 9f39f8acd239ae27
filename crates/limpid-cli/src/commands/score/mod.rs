//! `limpid score`: BLEU and chrF of files, with sacreBLEU's numbers.

mod files;
mod print;

use crate::args::{MetricName, Score, SmoothName, TokenizeName};
use crate::error::{Error, Result};
use crate::printer::say;
use files::Lines;
use limpid::eval::bleu::{NgramOrders, Smooth};
use limpid::eval::chrf::{ChrfSmooth, Whitespace};
use limpid::eval::lengths::{LENGTH_BOUNDS, LengthGroup, bleu_by_length};
use limpid::eval::resample::{Bootstrap, Interval, Randomization, paired_p_value};
use limpid::eval::{
    Bleu, BleuScore, BleuTokenizer, Case, Chrf, Counts, Metric, count_lines, signature,
};
use std::path::PathBuf;

/// Resampled corpora where several systems are compared and nothing else was said; sacreBLEU's
/// number.
const SAMPLES: usize = 1000;

/// Scores files.
pub fn run(args: Score) -> Result<()> {
    let settings = Settings::new(&args)?;
    let paths: Vec<_> = args.hyp.iter().chain(&args.references).chain(&args.source).collect();
    files::check_standard_input(&paths)?;
    let read = |paths: &[PathBuf]| -> Result<Vec<Lines>> {
        paths.iter().map(|path| Lines::read(path)).collect()
    };
    let (systems, references) = (read(&args.hyp)?, read(&args.references)?);
    for lines in systems.iter().skip(1).chain(&references) {
        lines.check_pairs_with(&systems[0])?;
    }
    let mut columns: Vec<_> = references.iter().map(Lines::iter).collect();
    let references: Vec<Vec<&str>> = (0..systems[0].len())
        .map(|_| columns.iter_mut().filter_map(Iterator::next).collect())
        .collect();

    if args.sentence {
        return sentences(&settings, &systems, &references, &args);
    }
    let groups = by_length(&settings.bleu, &args, &systems, &references)?;
    let test = Test::new(&args);
    let tables = settings.metrics.iter().map(|metric| table(metric, &systems, &references, test));
    let tables: Vec<Table> = tables.collect::<Result<_>>()?;
    if args.json {
        print::json(&systems, &tables, groups.as_deref());
    } else {
        print::text(&systems, &tables, groups.as_deref(), args.width);
    }
    Ok(())
}

/// What was typed, as metrics.
struct Settings {
    bleu: Bleu,
    metrics: Vec<Chosen>,
}

/// One of the metrics; BLEU has more to say than a number.
enum Chosen {
    Bleu(Bleu),
    Chrf(Chrf),
}

impl Chosen {
    fn metric(&self) -> &dyn Metric {
        match self {
            Chosen::Bleu(bleu) => bleu,
            Chosen::Chrf(chrf) => chrf,
        }
    }
}

impl Settings {
    fn new(args: &Score) -> Result<Self> {
        if args.chrf_char_order + args.chrf_word_order == 0 {
            return Err(Error::config(
                "--chrf-char-order 0 and --chrf-word-order 0 leave nothing to count",
            )
            .hint("chrF has characters up to order 6: leave both out"));
        }
        if args.randomization.is_some() && args.hyp.len() == 1 {
            return Err(Error::config("--randomization compares systems, and there is one")
                .hint("give a second file to --hyp, or use --bootstrap for an interval"));
        }
        let case = if args.lowercase { Case::Lower } else { Case::Mixed };
        let effective = args.effective_order || args.sentence;
        let bleu = Bleu {
            case,
            tokenizer: match args.tokenize {
                TokenizeName::V13a => BleuTokenizer::V13a,
                TokenizeName::Intl => BleuTokenizer::Intl,
                TokenizeName::Char => BleuTokenizer::Char,
                TokenizeName::None => BleuTokenizer::None,
            },
            smooth: smooth(args)?,
            max_order: args.max_ngram,
            orders: if effective { NgramOrders::Effective } else { NgramOrders::All },
        };
        let chrf = Chrf {
            case,
            char_order: args.chrf_char_order,
            word_order: args.chrf_word_order,
            beta: args.chrf_beta,
            whitespace: if args.chrf_whitespace {
                Whitespace::Counted
            } else {
                Whitespace::Ignored
            },
            smooth: if args.chrf_eps_smoothing {
                ChrfSmooth::Epsilon
            } else {
                ChrfSmooth::EffectiveOrder
            },
        };
        let mut metrics: Vec<Chosen> = Vec::new();
        for name in &args.metrics {
            let chosen = match name {
                MetricName::Bleu => Chosen::Bleu(bleu),
                MetricName::Chrf => Chosen::Chrf(chrf),
                MetricName::ChrfPlusPlus => Chosen::Chrf(Chrf { word_order: 2, ..chrf }),
            };
            // `--metrics chrf,chrf++ --chrf-word-order 2` asks for one thing twice.
            if !metrics.iter().any(|other| other.metric().name() == chosen.metric().name()) {
                metrics.push(chosen);
            }
        }
        Ok(Self { bleu, metrics })
    }
}

fn smooth(args: &Score) -> Result<Smooth> {
    if let Some(value) = args.smooth_value {
        if !matches!(args.smooth, SmoothName::Floor | SmoothName::AddK) {
            return Err(Error::config("--smooth-value has no meaning for this --smooth")
                .hint("add --smooth floor or --smooth add-k, or leave it out"));
        }
        if !(value.is_finite() && value >= 0.0) {
            return Err(Error::config(format!(
                "--smooth-value {value}: a number of matches, 0 or more, was expected"
            ))
            .hint("leave it out for 0.1 (floor) or 1 (add-k)"));
        }
    }
    Ok(match args.smooth {
        SmoothName::Exp => Smooth::Exp,
        SmoothName::Floor => Smooth::Floor(args.smooth_value.unwrap_or(0.1)),
        SmoothName::AddK => Smooth::AddK(args.smooth_value.unwrap_or(1.0)),
        SmoothName::None => Smooth::None,
    })
}

/// How sure one wants to be.
#[derive(Clone, Copy)]
enum Test {
    None,
    Bootstrap(Bootstrap),
    Randomization(Randomization),
}

impl Test {
    fn new(args: &Score) -> Self {
        let seed = args.seed;
        match (args.bootstrap, args.randomization, args.hyp.len()) {
            (_, Some(trials), _) => Test::Randomization(Randomization { trials, seed }),
            (Some(samples), ..) => Test::Bootstrap(Bootstrap { samples, seed }),
            (None, None, 1) => Test::None,
            (None, None, _) => Test::Bootstrap(Bootstrap { samples: SAMPLES, seed }),
        }
    }

    fn signature(self) -> Option<String> {
        match self {
            Test::None => None,
            Test::Bootstrap(bootstrap) => Some(bootstrap.signature()),
            Test::Randomization(randomization) => Some(randomization.signature()),
        }
    }
}

/// One metric of all systems.
struct Table {
    name: String,
    signature: String,
    rows: Vec<Row>,
}

/// One metric of one system.
struct Row {
    score: f64,
    /// What BLEU is made of.
    bleu: Option<BleuScore>,
    interval: Option<Interval>,
    /// Against the first system.
    p_value: Option<f64>,
}

fn table(
    chosen: &Chosen,
    systems: &[Lines],
    references: &[Vec<&str>],
    test: Test,
) -> Result<Table> {
    let metric = chosen.metric();
    let count =
        |system: &Lines| count_lines(metric, &system.iter().collect::<Vec<_>>(), references);
    let counts: Vec<Counts> = systems.iter().map(count).collect::<std::result::Result<_, _>>()?;
    let mut rows: Vec<Row> = counts.iter().map(|counts| row(chosen, &counts.total())).collect();
    match test {
        Test::None => {}
        Test::Bootstrap(bootstrap) => {
            let baseline = bootstrap.scores(metric, &counts[0]);
            let first = rows[0].score;
            rows[0].interval = Some(Interval::of(&baseline));
            for (row, counts) in rows.iter_mut().zip(&counts).skip(1) {
                let scores = bootstrap.scores(metric, counts);
                row.interval = Some(Interval::of(&scores));
                row.p_value = Some(paired_p_value(&baseline, &scores, (row.score - first).abs()));
            }
        }
        Test::Randomization(randomization) => {
            for (row, system) in rows.iter_mut().zip(&counts).skip(1) {
                row.p_value = Some(randomization.p_value(metric, &counts[0], system));
            }
        }
    }
    let signature = signature(metric, references, test.signature().as_deref());
    Ok(Table { name: metric.name(), signature, rows })
}

fn row(chosen: &Chosen, total: &[u64]) -> Row {
    let bleu = match chosen {
        Chosen::Bleu(bleu) => Some(bleu.explain(total)),
        Chosen::Chrf(_) => None,
    };
    Row { score: chosen.metric().score(total), bleu, interval: None, p_value: None }
}

/// A score for each line and metric.
fn sentences(
    settings: &Settings,
    systems: &[Lines],
    references: &[Vec<&str>],
    args: &Score,
) -> Result<()> {
    let [system] = systems else {
        return Err(Error::config(format!(
            "--sentence scores one file, and there are {}",
            systems.len()
        ))
        .hint("give one file to --hyp"));
    };
    let metrics: Vec<&dyn Metric> = settings.metrics.iter().map(Chosen::metric).collect();
    // Standard output has a line for each line; what the columns are is said once, beside it.
    if !args.json {
        for metric in &metrics {
            say(format_args!("{}|{}", metric.name(), signature(*metric, references, None)));
        }
    }
    for (i, (hypothesis, references)) in system.iter().zip(references).enumerate() {
        let score = |metric: &&dyn Metric| metric.score(&metric.count(hypothesis, references));
        let scores: Vec<f64> = metrics.iter().map(score).collect();
        if args.json {
            print::json_sentence(i + 1, &metrics, &scores);
        } else {
            let scores: Vec<String> =
                scores.iter().map(|score| format!("{score:.*}", args.width)).collect();
            println!("{}", scores.join("\t"));
        }
    }
    Ok(())
}

/// BLEU of each system by the length of the source, if there is a source.
fn by_length(
    bleu: &Bleu,
    args: &Score,
    systems: &[Lines],
    references: &[Vec<&str>],
) -> Result<Option<Vec<Vec<LengthGroup>>>> {
    let Some(path) = &args.source else { return Ok(None) };
    let source = Lines::read(path)?;
    source.check_pairs_with(&systems[0])?;
    let source: Vec<&str> = source.iter().collect();
    let of = |system: &Lines| {
        let hypotheses: Vec<&str> = system.iter().collect();
        bleu_by_length(bleu, bleu.tokenizer, &LENGTH_BOUNDS, &source, &hypotheses, references)
    };
    Ok(Some(systems.iter().map(of).collect::<std::result::Result<_, _>>()?))
}
