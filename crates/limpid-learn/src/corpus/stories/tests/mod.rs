//! What the stories are, and that the grammar knows them.

mod automaton;
mod reduced;

use super::measure::tokens;
use super::parse::parse;
use super::*;
use std::collections::{BTreeSet, HashSet};

fn stories(seed: u64, count: u64) -> Vec<Story> {
    (0..count).map(|n| story(seed, n)).collect()
}

#[test]
fn a_story_is_a_function_of_seed_and_number_and_none_comes_twice() {
    assert_eq!(story(7, 3), story(7, 3));
    let mut texts = HashSet::new();
    for story in stories(1, 3000).into_iter().chain(stories(2, 3000)) {
        assert!(texts.insert(story.text.clone()), "twice: {}", story.text);
    }
}

#[test]
fn stories_have_nine_to_twelve_sentences_that_begin_with_a_capital_and_end_with_a_stop() {
    for story in stories(1, 2000) {
        let sentences: Vec<&str> = story.text.split_inclusive(". ").collect();
        assert!(
            (9..=12).contains(&sentences.len()),
            "{} sentences: {}",
            sentences.len(),
            story.text
        );
        for sentence in sentences.into_iter().chain([story.summary.as_str()]) {
            let sentence = sentence.trim_end();
            assert!(
                sentence.starts_with(|c: char| c.is_uppercase()) && sentence.ends_with('.'),
                "{sentence}"
            );
            let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, ' ' | ',' | '.');
            assert!(sentence.chars().all(plain) && !sentence.contains("  "), "{sentence}");
            assert!(!sentence.contains(" ,") && !sentence.contains(" ."), "{sentence}");
        }
        for wrong in
            [" a a", " a e", " a i", " a o", " an b", " an c", " the the ", " a the ", " a a "]
        {
            assert!(
                !format!(" {}", story.text.to_lowercase()).contains(wrong),
                "{wrong}: {}",
                story.text
            );
        }
    }
}

#[test]
fn every_plot_and_every_ending_is_told_and_the_summaries_differ_by_them() {
    let mut tokens = BTreeSet::new();
    for story in stories(4, 2000) {
        let tree = &*TREE;
        let mut endings = Vec::new();
        parse(
            &tree.grammar,
            &tree.story,
            &measure::tokens(&tree.grammar, &words(&story.text)),
            &mut |way| {
                endings.push(way.filled[tree.grammar.slot("ending").unwrap()].unwrap());
            },
        );
        tokens.insert((story.plot, endings[0]));
    }
    assert_eq!(tokens.len(), 3 * plot_names().len());
}

#[test]
fn what_is_written_is_read_in_exactly_one_way_and_the_summary_follows_from_the_text() {
    let tree = &*TREE;
    for story in stories(5, 2000) {
        let mut ways = 0;
        parse(&tree.grammar, &tree.story, &tokens(&tree.grammar, &words(&story.text)), &mut |_| {
            ways += 1
        });
        assert_eq!(ways, 1, "{}", story.text);
        assert_eq!(summarize(&story.text).as_deref(), Some(story.summary.as_str()));
        assert!(!story.text.contains(&story.summary), "the summary is copied: {}", story.summary);
    }
    let text = story(5, 0).text;
    for other in
        [format!("{text} The end."), text.replacen('.', "", 1), String::new(), "Hello.".to_owned()]
    {
        assert_eq!((log_probability(&other), summarize(&other)), (None, None), "{other}");
    }
}

#[test]
fn a_summary_needs_no_draw_so_it_is_decided_by_what_the_story_fills() {
    let tree = &*TREE;
    for n in 0..500 {
        let mut filled = vec![None; tree.grammar.slots.len()];
        let mut rng = Stream::new(6, n);
        sample::sample(&tree.grammar, &tree.story, &mut filled, &mut rng);
        let (before, position) = (filled.clone(), rng.position());
        sample::sample(&tree.grammar, &tree.summary, &mut filled, &mut rng);
        assert_eq!((filled, rng.position()), (before, position), "the summary drew something");
    }
}

#[test]
fn the_mean_of_minus_ln_p_and_the_mean_length_agree_with_the_exact_ones() {
    let exact = entropy();
    let of = stories(8, 2000);
    let losses: Vec<f64> = of.iter().map(|story| -log_probability(&story.text).unwrap()).collect();
    let lengths: Vec<f64> = of.iter().map(|story| words(&story.text).len() as f64).collect();
    for (sample, exact) in [(losses, exact.per_story), (lengths, exact.words)] {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let error = (sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n / n).sqrt();
        assert!((mean - exact).abs() < 4.0 * error, "{mean} ± {error}, exactly {exact}");
    }
}

#[test]
fn guessing_the_likeliest_word_is_right_as_often_as_the_ceiling_says() {
    let (mut hits, mut expected, mut variance, mut n) = (0.0, 0.0, 0.0, 0);
    for story in stories(9, 60) {
        for (i, word) in words(&story.text).into_iter().enumerate() {
            let guesses = masked(&story.text, i);
            let best = &guesses[0];
            assert!(
                (guesses.iter().map(|guess| guess.probability).sum::<f64>() - 1.0).abs() < 1e-9
            );
            assert!(
                guesses.iter().any(|guess| guess.word == word),
                "{word} is impossible where it stands"
            );
            hits += f64::from(u8::from(best.word == word));
            expected += best.probability;
            variance += best.probability * (1.0 - best.probability);
            n += 1;
        }
    }
    // Guesses within a story are not quite independent, so twice the usual margin.
    assert!((hits - expected).abs() < 6.0 * variance.sqrt(), "{hits} of {n}, expected {expected}");
    let of: Vec<Story> = stories(9, 60);
    let ceiling = ceiling(of.iter().map(|story| story.text.as_str()));
    assert_eq!(ceiling.positions, n);
    assert!((ceiling.accuracy - expected / n as f64).abs() < 1e-9);
    assert!(ceiling.word_positions < n && (0.5..1.0).contains(&ceiling.word_accuracy));
}

#[test]
fn a_two_sense_word_occurs_once_or_twice_in_its_story_and_no_other_occurs_at_all() {
    let two_senses: Vec<&str> = two_sense_words().map(|word| word.word).to_vec();
    assert_eq!(two_senses.iter().collect::<HashSet<_>>().len(), 20);
    let (mut parts, mut again) = (HashSet::new(), 0);
    for story in stories(10, 2000) {
        let found: Vec<&str> =
            words(&story.text).into_iter().filter(|word| two_senses.contains(word)).collect();
        assert!(
            matches!(found.len(), 1 | 2) && found.iter().all(|word| *word == found[0]),
            "{}",
            story.text
        );
        again += usize::from(found.len() == 2);
        parts.insert(found[0].to_owned());
        assert!(
            words(&story.summary).iter().all(|word| !two_senses.contains(word)),
            "{}",
            story.summary
        );
    }
    assert_eq!(parts.len(), 20);
    assert!((1300..1700).contains(&again), "three in four come back: {again}");
}

#[test]
fn a_triple_has_its_word_three_times_in_two_senses_said_in_three_ways() {
    for n in 0..200 {
        let triple = triple(3, n);
        assert_eq!(triple, super::triple(3, n));
        for (sentence, position) in triple.sentences.iter().zip(triple.places) {
            let words = words(sentence);
            assert_eq!(words.iter().filter(|word| **word == triple.word).count(), 1, "{sentence}");
            assert_eq!(words[position], triple.word);
        }
        let distinct: HashSet<&String> = triple.sentences.iter().collect();
        assert_eq!(distinct.len(), 3);
        assert_ne!(triple.meanings[0], triple.meanings[1]);
        // Which sense a sentence has can be read from a story that it is put into.
        let sense = |sentence: &str| {
            let name = words(sentence)[3].to_owned();
            let (sense, uses) = TREE.uses.iter().enumerate().find(|(_, uses)| {
                let node =
                    Node::Sequence(vec![TREE.named_day.clone(), Node::Choice(uses.to_vec())]);
                measure::total(&TREE.grammar, &node, &tokens(&TREE.grammar, &words(sentence)))
                    .is_some()
            })?;
            assert_eq!((uses.len(), name.is_empty()), (3, false));
            Some(WORDS[sense / 2].senses[sense % 2].meaning)
        };
        let senses = [0, 1, 2].map(|i| sense(&triple.sentences[i]).unwrap());
        assert_eq!(senses, [triple.meanings[0], triple.meanings[0], triple.meanings[1]]);
    }
    let all: HashSet<_> = (0..40).map(|n| (triple(3, n).word, triple(3, n).meanings[0])).collect();
    assert_eq!(all.len(), 40, "40 triples have each sense of each word once");
}

#[test]
fn a_diary_says_a_word_three_times_in_one_sense_and_no_sentence_of_a_triple() {
    let asked: HashSet<String> = (0..800).flat_map(|n| triple(1, n).sentences).collect();
    let mut first_words = HashSet::new();
    for n in 0..400 {
        let text = diary(1, n);
        assert_eq!(text, diary(1, n));
        let days: Vec<String> =
            text.split_inclusive('.').map(|day| day.trim_start().to_owned()).collect();
        assert_eq!(days.iter().collect::<HashSet<_>>().len(), 3, "{text}");
        first_words.insert(words(&text)[0].to_owned());
        let uses = &TREE.uses[(n % 40) as usize];
        // Each of the three ways, once, in some order; read with the days of stories.
        let day = Node::Choice(TREE.days.clone());
        let ways: HashSet<usize> = days
            .iter()
            .map(|text| {
                let reads = |use_: &Node| {
                    let node = Node::Sequence(vec![day.clone(), use_.clone()]);
                    measure::total(&TREE.grammar, &node, &tokens(&TREE.grammar, &words(text)))
                        .is_some()
                };
                uses.iter().position(reads).unwrap_or_else(|| panic!("of another sense: {text}"))
            })
            .collect();
        assert_eq!(ways.len(), 3, "{text}");
        assert!(days.iter().all(|day| !asked.contains(day)), "{text}");
    }
    assert_eq!(first_words.len(), 2, "a first day says who it is about");
}

#[test]
fn no_story_of_one_set_is_in_another_whatever_the_seeds() {
    let (a, b) = (generate(400, 50, 1), generate(300, 40, 2));
    assert_eq!((a.train.len(), a.validation.len(), a.test.len()), (400, 50, 50));
    assert_eq!(a, generate(400, 50, 1));
    let texts = |sets: [&[Story]; 2]| -> HashSet<String> {
        sets.iter().flat_map(|set| set.iter().map(|story| story.text.clone())).collect()
    };
    let train = texts([&a.train, &b.train]);
    let validation = texts([&a.validation, &b.validation]);
    let test = texts([&a.test, &b.test]);
    assert_eq!((train.len(), validation.len(), test.len()), (700, 90, 90));
    assert!(
        train.is_disjoint(&validation) && train.is_disjoint(&test) && validation.is_disjoint(&test)
    );
}

#[test]
fn the_vocabulary_has_400_to_1000_words_whatever_their_case() {
    let lower: BTreeSet<String> =
        TREE.grammar.words.iter().map(|word| word.to_lowercase()).collect();
    assert!((400..=1000).contains(&lower.len()), "{}", lower.len());
}

#[test]
fn the_probabilities_of_all_next_words_multiply_to_that_of_the_story() {
    for n in 0..3 {
        let text = story(5, n).text;
        let words = words(&text);
        let mut log_p = 0.0;
        for i in 0..=words.len() {
            let next = next_words(&words[..i].join(" "));
            let sum: f64 = next.iter().map(|next| next.probability).sum();
            assert!((sum - 1.0).abs() < 1e-12, "{i}: {sum}");
            let own = next.iter().find(|next| next.word.as_deref() == words.get(i).copied());
            log_p += own
                .unwrap_or_else(|| panic!("{:?} after {i} words", words.get(i)))
                .probability
                .ln();
        }
        let whole = log_probability(&text).unwrap();
        assert!((log_p - whole).abs() < 1e-9, "{log_p} and {whole}");
    }
}
