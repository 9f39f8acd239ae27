//! The built-in stories, with the parts of the library that use them: tokenizer and scores.

use limpid::eval::FScore;
use limpid::eval::baselines::lead_sentence;
use limpid::eval::rouge::{exact_match, rouge_l};
use limpid::text::word_tokenizer;
use limpid_learn::corpus::stories::{generate, story, words};

#[test]
fn the_word_tokenizer_has_one_token_for_each_word_of_a_story_and_none_is_unknown() {
    let splits = generate(3000, 200, 1);
    let texts = splits.train.iter().flat_map(|story| [story.text.as_str(), story.summary.as_str()]);
    let tokenizer = word_tokenizer(texts).unwrap();
    assert!((500..1200).contains(&tokenizer.vocab_size()), "{}", tokenizer.vocab_size());
    for story in splits.validation.iter().chain(&splits.test) {
        for text in [&story.text, &story.summary] {
            let ids = tokenizer.encode(text).unwrap();
            let tokens: Vec<String> = ids
                .iter()
                .map(|id| tokenizer.token(*id).trim_start_matches('▁').to_owned())
                .collect();
            assert_eq!(tokens, words(text));
            assert_eq!(&tokenizer.decode(&ids).unwrap(), text);
        }
    }
}

#[test]
fn the_first_sentence_of_a_story_is_a_poor_summary_of_it() {
    let stories: Vec<_> = (0..300).map(|n| story(3, n)).collect();
    let leads: Vec<&str> = stories.iter().map(|story| lead_sentence(&story.text)).collect();
    let summaries: Vec<&str> = stories.iter().map(|story| story.summary.as_str()).collect();
    assert_eq!(exact_match(&leads, &summaries), 0.0);
    assert_eq!(exact_match(&summaries, &summaries), 1.0);
    let scores = leads.iter().zip(&summaries).map(|(lead, summary)| (1.0, rouge_l(lead, summary)));
    // The hero's name and small words are shared, but what happened is not.
    let f1 = FScore::mean(scores).f1;
    assert!((0.05..0.35).contains(&f1), "{f1}");
}
