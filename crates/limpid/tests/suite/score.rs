//! Metrics against sacreBLEU, rouge-score and scikit-learn; `reference/make_score_cases.py` wrote
//! down what they answered.

use limpid::eval::bleu::{NgramOrders, Smooth};
use limpid::eval::chrf::{ChrfSmooth, Whitespace};
use limpid::eval::classification::ConfusionMatrix;
use limpid::eval::entities::EntityScore;
use limpid::eval::multi_label::MultiLabelScore;
use limpid::eval::regression::{mean_squared_error, pearson, spearman};
use limpid::eval::resample::{Bootstrap, Interval, Randomization, paired_p_value};
use limpid::eval::rouge::rouge_l;
use limpid::eval::squad::AnswerScore;
use limpid::eval::{
    Bleu, BleuTokenizer, Case, Chrf, FScore, Metric, count_lines, signature, words,
};
use serde_json::Value;

const CASES: &str = include_str!("../../../../reference/fixtures/score/cases.json");

fn cases() -> Value {
    serde_json::from_str(CASES).expect("cases.json is JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn strings(value: &Value) -> Vec<&str> {
    list(value).iter().map(|text| text.as_str().expect("a string")).collect()
}

fn numbers(value: &Value) -> Vec<f64> {
    list(value).iter().map(|number| number.as_f64().expect("a number")).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    list(value).iter().map(|number| number.as_u64().expect("a whole number") as usize).collect()
}

#[track_caller]
fn close(found: f64, want: f64, name: &str) {
    assert!((found - want).abs() <= 1e-11 * want.abs().max(1.0), "{name}: {found} is not {want}");
}

/// The value that settings give a key; every key must be asked for.
struct Settings<'a>(&'a Value, usize);

impl<'a> Settings<'a> {
    fn get(&mut self, key: &str) -> Option<&'a Value> {
        let value = self.0.get(key);
        self.1 += usize::from(value.is_some());
        value
    }

    fn case(&mut self) -> Case {
        if self.get("lowercase").is_some() { Case::Lower } else { Case::Mixed }
    }

    fn whole(&mut self, key: &str, default: usize) -> usize {
        self.get(key).map_or(default, |value| value.as_u64().expect("a whole number") as usize)
    }

    fn all_used(self) {
        assert_eq!(
            self.1,
            self.0.as_object().expect("settings").len(),
            "a setting is unknown: {}",
            self.0
        );
    }
}

fn bleu(settings: &Value) -> Bleu {
    let mut settings = Settings(settings, 0);
    let value = settings.get("smooth_value").map(|value| value.as_f64().expect("a number"));
    let bleu = Bleu {
        case: settings.case(),
        tokenizer: match settings.get("tokenize").map(|name| name.as_str().expect("a name")) {
            None => BleuTokenizer::V13a,
            Some("intl") => BleuTokenizer::Intl,
            Some("char") => BleuTokenizer::Char,
            Some("none") => BleuTokenizer::None,
            Some(other) => panic!("unknown tokenizer {other}"),
        },
        smooth: match settings.get("smooth_method").map(|name| name.as_str().expect("a name")) {
            None => Smooth::Exp,
            Some("floor") => Smooth::Floor(value.unwrap_or(0.1)),
            Some("add-k") => Smooth::AddK(value.unwrap_or(1.0)),
            Some("none") => Smooth::None,
            Some(other) => panic!("unknown smoothing {other}"),
        },
        max_order: settings.whole("max_ngram_order", 4),
        orders: match settings.get("effective_order") {
            None => NgramOrders::All,
            Some(_) => NgramOrders::Effective,
        },
    };
    settings.all_used();
    bleu
}

fn chrf(settings: &Value) -> Chrf {
    let mut settings = Settings(settings, 0);
    let chrf = Chrf {
        case: settings.case(),
        char_order: settings.whole("char_order", 6),
        word_order: settings.whole("word_order", 0),
        beta: settings.whole("beta", 2) as u32,
        whitespace: match settings.get("whitespace") {
            None => Whitespace::Ignored,
            Some(_) => Whitespace::Counted,
        },
        smooth: match settings.get("eps_smoothing") {
            None => ChrfSmooth::EffectiveOrder,
            Some(_) => ChrfSmooth::Epsilon,
        },
    };
    settings.all_used();
    chrf
}

/// The metric of an answer, and the one for its sentences.
fn metrics(answer: &Value) -> [Box<dyn Metric>; 2] {
    let settings = &answer["settings"];
    match answer["metric"].as_str() {
        Some("bleu") => {
            let bleu = bleu(settings);
            [Box::new(bleu), Box::new(Bleu { orders: NgramOrders::Effective, ..bleu })]
        }
        Some("chrf") => [Box::new(chrf(settings)), Box::new(chrf(settings))],
        other => panic!("unknown metric {other:?}"),
    }
}

#[test]
fn lines_are_cut_into_the_international_tokens() {
    for case in list(&cases()["tokens"]) {
        let line = case["line"].as_str().expect("a line");
        let text = BleuTokenizer::Intl.tokenize(line);
        assert_eq!(words(&text).collect::<Vec<_>>(), strings(&case["tokens"]), "{line:?}");
    }
}

#[test]
fn every_setting_scores_every_corpus_and_sentence_as_sacrebleu_does() {
    let cases = cases();
    let mut scores = 0;
    for answer in list(&cases["answers"]) {
        let [metric, for_sentences] = metrics(answer);
        for (i, corpus) in list(&cases["corpora"]).iter().enumerate() {
            let name = format!("{} {} {}", answer["metric"], answer["settings"], corpus["name"]);
            let hypotheses = strings(&corpus["hypotheses"]);
            let references: Vec<Vec<&str>> =
                list(&corpus["references"]).iter().map(strings).collect();

            let want = &answer["corpora"][i];
            let total = count_lines(&*metric, &hypotheses, &references).expect("counts").total();
            let score = metric.score(&total);
            close(score, want["score"].as_f64().expect("a number"), &name);
            assert_eq!(metric.name(), want["name"], "{name}");
            // sacreBLEU's signature is silent about the order.
            let signature = signature(&*metric, &references, None);
            let signature = signature.split("|order:").next().expect("a first part");
            let details = match answer["metric"].as_str() {
                Some("bleu") => format!(" {}", bleu(&answer["settings"]).explain(&total).details()),
                _ => String::new(),
            };
            assert_eq!(
                format!("{}|{signature} = {score:.2}{details}", metric.name()),
                want["line"],
                "{name}"
            );

            let sentences = numbers(&answer["sentences"][i]);
            for ((hypothesis, references), want) in
                hypotheses.iter().zip(&references).zip(sentences)
            {
                let score = for_sentences.score(&for_sentences.count(hypothesis, references));
                close(score, want, &format!("{name}: {hypothesis:?}"));
                scores += 1;
            }
        }
    }
    assert!(scores > 1000, "only {scores} sentences");
}

#[test]
fn the_short_ways_to_a_score_are_the_long_one() {
    let (hypotheses, references) =
        (["the cat sat", "a b"], [vec!["the cat was there"], vec!["a c", "a b c"]]);
    let bleu = Bleu { tokenizer: BleuTokenizer::Intl, ..Bleu::default() };
    let total = count_lines(&bleu, &hypotheses, &references).unwrap().total();
    assert_eq!(bleu.corpus(&hypotheses, &references).unwrap().score, bleu.score(&total));
    let effective = Bleu { orders: NgramOrders::Effective, ..bleu };
    let sentence = bleu.sentence(hypotheses[1], &references[1]).unwrap();
    assert_eq!(sentence.score, effective.score(&effective.count(hypotheses[1], &references[1])));
    assert_eq!(sentence.signature, "nrefs:2|case:mixed|eff:yes|tok:intl|smooth:exp");

    let chrf = Chrf::plus_plus();
    let total = count_lines(&chrf, &hypotheses, &references).unwrap().total();
    let corpus = chrf.corpus(&hypotheses, &references).unwrap();
    assert_eq!(corpus.score, chrf.score(&total));
    assert_eq!(corpus.signature, "nrefs:var|case:mixed|eff:yes|nc:6|nw:2|space:no");
    let sentence = chrf.sentence(hypotheses[0], &references[0]).unwrap();
    assert_eq!(sentence.score, chrf.score(&chrf.count(hypotheses[0], &references[0])));
}

#[test]
fn an_order_that_is_not_four_is_in_the_signature() {
    let bleu = Bleu { max_order: 2, ..Bleu::default() };
    assert_eq!(
        signature(&bleu, &[vec!["a"]], None),
        "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|order:2"
    );
}

#[track_caller]
fn same_rouge(found: FScore, want: &Value, name: &str) {
    for (found, want) in [found.precision, found.recall, found.f1].into_iter().zip(numbers(want)) {
        close(found, want, name);
    }
}

#[test]
fn summaries_score_as_in_rouge_score() {
    let cases = cases();
    for case in list(&cases["summaries"]["single"]) {
        let (prediction, reference) =
            (case["prediction"].as_str().unwrap(), case["reference"].as_str().unwrap());
        same_rouge(rouge_l(prediction, reference), &case["rougeL"], reference);
    }
    let half = FScore { precision: 0.25, recall: 1.0, f1: 0.4 };
    let mean = FScore::mean([(1.0, half), (1.0, FScore::default())]);
    assert_eq!(mean, FScore { precision: 0.125, recall: 0.5, f1: 0.2 });
    assert_eq!(FScore::mean([]), FScore::default());
}

#[test]
fn labels_score_as_in_scikit_learn() {
    #[track_caller]
    fn same(found: FScore, want: &Value) {
        for (found, want) in
            [found.precision, found.recall, found.f1].into_iter().zip(numbers(want))
        {
            close(found, want, "a class score");
        }
    }
    for case in list(&cases()["labels"]) {
        let classes = case["classes"].as_u64().unwrap() as usize;
        let confusion =
            ConfusionMatrix::new(classes, &indices(&case["right"]), &indices(&case["predicted"]))
                .unwrap();
        close(confusion.accuracy(), case["accuracy"].as_f64().unwrap(), "accuracy");
        close(confusion.accuracy(), case["micro_f1"].as_f64().unwrap(), "micro F1");
        same(confusion.macro_mean(), &case["macro"]);
        same(confusion.weighted_mean(), &case["weighted"]);
        for class in 0..classes {
            same(confusion.class(class), &case["each"][class]);
            assert_eq!(confusion.support(class), case["support"][class]);
            for predicted in 0..classes {
                assert_eq!(confusion.count(class, predicted), case["confusion"][class][predicted]);
            }
        }
    }
}

/// A metric whose statistics are known: the percentage of lines that are right.
struct Right;

impl Metric for Right {
    fn name(&self) -> String {
        "right".to_string()
    }

    fn settings(&self) -> String {
        String::new()
    }

    fn count(&self, hypothesis: &str, references: &[&str]) -> Vec<u64> {
        vec![u64::from(references.contains(&hypothesis)), 1]
    }

    fn score(&self, counts: &[u64]) -> f64 {
        100.0 * counts[0] as f64 / counts[1] as f64
    }
}

/// The counts of a system that has `right(i)` of 400 lines right.
fn system(right: impl Fn(usize) -> bool) -> limpid::eval::Counts {
    let hypotheses: Vec<&str> = (0..400).map(|i| if right(i) { "a" } else { "b" }).collect();
    count_lines(&Right, &hypotheses, &vec![vec!["a"]; 400]).unwrap()
}

#[test]
fn a_bootstrapped_proportion_has_the_mean_and_interval_of_the_binomial() {
    let counts = system(|i| i % 10 < 3);
    let bootstrap = Bootstrap { samples: 4000, seed: 1 };
    let interval = Interval::of(&bootstrap.scores(&Right, &counts));
    // 30% of 400 lines: the standard deviation is 100·√(0.3·0.7/400) = 2.291, the interval ± 1.96
    // of them. The mean of 4000 draws has a standard error of 0.036, half the distance of the
    // percentiles one of about 0.07.
    assert!((interval.mean - 30.0).abs() < 0.15, "{interval:?}");
    assert!((interval.half_width - 1.96 * 2.291).abs() < 0.3, "{interval:?}");

    assert_eq!(bootstrap.scores(&Right, &counts), bootstrap.scores(&Right, &counts));
    let other = Bootstrap { seed: 2, ..bootstrap };
    assert_ne!(bootstrap.scores(&Right, &counts), other.scores(&Right, &counts));
}

#[test]
fn an_interval_leaves_out_a_fortieth_on_either_side() {
    let scores: Vec<f64> = (0..200).rev().map(f64::from).collect();
    let interval = Interval::of(&scores);
    assert_eq!((interval.mean, interval.half_width), (99.5, 0.5 * (194.0 - 5.0)));
}

#[test]
fn a_large_difference_is_significant_and_a_small_one_is_not() {
    let bootstrap = Bootstrap { samples: 1000, seed: 1 };
    let randomization = Randomization { trials: 1000, seed: 1 };
    let baseline = system(|i| i % 10 < 3);
    let test = |system: &limpid::eval::Counts| {
        let observed = (Right.score(&baseline.total()) - Right.score(&system.total())).abs();
        let draw = |counts| bootstrap.scores(&Right, counts);
        let by_bootstrap = paired_p_value(&draw(&baseline), &draw(system), observed);
        (by_bootstrap, randomization.p_value(&Right, &baseline, system))
    };
    // 120 against 160 lines, 40 of them new: that none of 1000 trials goes beyond leaves p at its
    // least, 1/1001.
    let (bs, ar) = test(&system(|i| i % 10 < 4));
    assert_eq!((bs, ar), (1.0 / 1001.0, 1.0 / 1001.0));
    // 120 against 122, but on other lines: 60 lines differ one way and 62 the other. Exchanged at
    // random, the difference has a standard deviation of √122 lines, and 2 or fewer is likely.
    let (bs, ar) = test(&system(|i| i % 10 < 3 && i < 200 || i % 10 >= 7 && i < 209));
    assert!(bs > 0.2 && ar > 0.6, "{bs} {ar}");
    // A system is no different from itself.
    assert_eq!(test(&baseline), (1.0, 1.0));
}

/// What SciPy, scikit-learn, seqeval and torchmetrics make of predictions of heads
/// (`reference/make_metric_cases.py`).
const HEADS: &str = include_str!("../../../../reference/fixtures/score/heads.json");

fn head_cases(key: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(HEADS).expect("heads.json is JSON");
    let cases = list(&all[key]).to_vec();
    assert!(!cases.is_empty(), "{key}");
    cases
}

#[track_caller]
fn close_scores(found: FScore, want: &Value, name: &str) {
    for (found, want) in [found.precision, found.recall, found.f1].into_iter().zip(numbers(want)) {
        close(found, want, name);
    }
}

#[test]
fn regressions_score_as_in_scipy() {
    for case in head_cases("regressions") {
        let (predicted, targets) = (numbers(&case["predicted"]), numbers(&case["targets"]));
        let want = |key: &str| case[key].as_f64().unwrap();
        close(mean_squared_error(&predicted, &targets), want("mse"), "mse");
        close(pearson(&predicted, &targets).unwrap(), want("pearson"), "pearson");
        close(spearman(&predicted, &targets).unwrap(), want("spearman"), "spearman");
    }
}

#[test]
fn several_labels_score_as_in_scikit_learn() {
    for case in head_cases("multi_labels") {
        let rows = |key: &str| -> Vec<Vec<bool>> {
            let row = |row: &Value| numbers(row).iter().map(|value| *value == 1.0).collect();
            list(&case[key]).iter().map(row).collect()
        };
        let (predicted, correct) = (rows("predicted"), rows("correct"));
        let mut score = MultiLabelScore::new(correct[0].len());
        predicted.iter().zip(&correct).for_each(|(a, b)| score.add(a, b));
        close(score.accuracy(), case["accuracy"].as_f64().unwrap(), "accuracy");
        if case["micro"].is_null() {
            continue;
        }
        close_scores(score.micro(), &case["micro"], "micro");
        close_scores(score.macro_mean(), &case["macro"], "macro");
        for (label, want) in list(&case["labels"]).iter().enumerate() {
            close_scores(score.label(label), want, "label");
        }
    }
}

#[test]
fn entities_score_as_in_seqeval() {
    for case in head_cases("entities") {
        let mut score = EntityScore::default();
        for (predicted, correct) in list(&case["predicted"]).iter().zip(list(&case["correct"])) {
            score.add(&strings(predicted), &strings(correct));
        }
        close(score.accuracy(), case["accuracy"].as_f64().unwrap(), "accuracy");
        close_scores(score.overall(), &case["overall"], "overall");
        let kinds = case["kinds"].as_object().unwrap();
        assert_eq!(score.kinds().count(), kinds.len());
        for (kind, support, found) in score.kinds() {
            close_scores(found, &kinds[kind], kind);
            assert_eq!(numbers(&kinds[kind])[3], support as f64, "{kind}");
        }
    }
}

#[test]
fn answers_score_as_in_squad() {
    for case in head_cases("answers") {
        let mut score = AnswerScore::default();
        let predicted = case["predicted"].as_str().unwrap();
        score.add(predicted, &strings(&case["correct"]));
        close(score.exact_match(), case["exact"].as_f64().unwrap(), predicted);
        // torchmetrics computes in f32.
        let want = case["f1"].as_f64().unwrap();
        assert!((score.f1() - want).abs() < 1e-6, "{case}: {}", score.f1());
    }
}
