//! Data: text files, tables, splits, batches and token caches.

use limpid::data::labelled::label_list;
use limpid::error::{ColumnError, DataError, RowError};

pub(super) fn hint(error: &DataError) -> Option<String> {
    Some(match error {
        DataError::NotAFile { .. } => "name the files in it".into(),
        DataError::ZeroByte { .. } => "give plain text in UTF-8".into(),
        DataError::NotUtf8 { .. } => {
            "convert it first, for example with: iconv -f latin1 -t utf-8".into()
        }
        DataError::NoExamples { files, .. } if files.len() > 1 => {
            "are they the right files?".into()
        }
        DataError::NoExamples { .. } => "is it the right file?".into(),
        DataError::NoLabel { .. } => "label the line, or leave it out".into(),
        DataError::UnknownLabel { known, .. } => {
            format!("the model's labels are: {}", label_list(known))
        }
        DataError::UnequalLines { .. } => {
            "line n of one file must translate line n of the other; look for a line that is \
             missing or broken in two"
                .into()
        }
        DataError::UnknownFormat { .. } => {
            "the formats are tsv, csv, jsonl and label-first (a label, a space, the text)".into()
        }
        DataError::AmbiguousFormat { .. } => {
            "name the file .tsv, .csv or .jsonl (words with labels: .conll; questions: .json), or \
             give the format with --format (label-first: a label, a space, the text)"
                .into()
        }
        DataError::Row { problem, .. } | DataError::Question { problem, .. } => row(problem)?,
        DataError::Column { problem, .. } => column(problem)?,
        DataError::ValidationFraction { .. } => "for example 0.1".into(),
        DataError::TooFewToSplit { .. } => "give more text, or a validation file of its own".into(),
        DataError::NoTrainingExamples => "is the file empty?".into(),
        DataError::ExampleExceedsBatch { tokens, .. } => {
            format!("--set train.batch_tokens={tokens}, or a smaller model.context_length")
        }
        DataError::TextShorterThanContext { tokens: 0 | 1, .. } => "give more text".into(),
        DataError::TextShorterThanContext { tokens, .. } => {
            format!("use a context of at most {}, or give more text", tokens - 1)
        }
        DataError::DamagedCache { .. } => "remove the file; it is rebuilt from the text".into(),
        DataError::CacheLimit { .. } => "train on a part of the corpus".into(),
        _ => return None,
    })
}

fn row(problem: &RowError) -> Option<String> {
    Some(match problem {
        RowError::NoSpace => "each line must be: a label, a space, the text".into(),
        RowError::NotJson(_) => "JSON Lines has one object per line".into(),
        RowError::NumberedKey => "give the key, such as text or label".into(),
        RowError::NotAnObject => "each line must be an object: {\"text\": …}".into(),
        RowError::NoKey { found, .. } => format!("the line has: {}", found.join(", ")),
        RowError::NotText { .. } => "put it between quotation marks, or leave the line out".into(),
        RowError::TooFewColumns { .. } => {
            "is it the right file, and the right format (.tsv, .csv)?".into()
        }
        RowError::TooManyFields { .. } => "put a field that contains a comma in quotes".into(),
        RowError::UnclosedQuote => "close it; double a quotation mark inside a field".into(),
        RowError::TextAfterQuote { .. } => {
            "double a quotation mark inside a quoted field; a field starts with one only if it is \
             quoted"
                .into()
        }
        RowError::NotANumber { .. } => {
            "a regression needs a number for each text; is data.label_column the right column? \
             Names are labels of --problem-type single_label_classification"
                .into()
        }
        RowError::NotLabels { .. } => {
            "give an array of strings, or labels with data.label_separator between them".into()
        }
        RowError::NoTokens => "leave the line out".into(),
        RowError::NotAList { .. } | RowError::UnequalLists { .. } => {
            "give a list of words and a list with the label of each, or for questions a list of \
             answers"
                .into()
        }
        RowError::NotAPlace { .. } | RowError::AnswerNotThere { .. } => {
            "the place of an answer counts the characters of the context before it, from 0".into()
        }
        RowError::EmptyWord { .. } | RowError::EmptyLabel { .. } => {
            "every word needs a label; columns are between tabs, or else between spaces".into()
        }
        RowError::SpaceBeforeQuote => "remove it: only commas separate fields".into(),
        _ => return None,
    })
}

fn column(problem: &ColumnError) -> Option<String> {
    Some(match problem {
        ColumnError::Zero => "use 1 for the first".into(),
        ColumnError::Missing { header, .. } => format!(
            "the header has: {}; a column can also be given by its number, from 1",
            header.join(", ")
        ),
        ColumnError::Ambiguous { .. } => "give the number of the column, from 1".into(),
        ColumnError::NoHeader { .. } => {
            "give its number, from 1, or set that the first line is a header".into()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_say_what_would_work() {
        let context = |tokens| DataError::TextShorterThanContext { tokens, context: 6 };
        let hint_of = |error: &DataError| hint(error).unwrap();
        assert_eq!(hint_of(&context(6)), "use a context of at most 5, or give more text");
        assert_eq!(hint_of(&context(1)), "give more text");
        let batch = DataError::ExampleExceedsBatch { tokens: 30, batch_tokens: 10 };
        assert!(hint_of(&batch).contains("train.batch_tokens=30"));
        let (name, header) = ("c".to_string(), vec!["a".to_string(), "b".to_string()]);
        let problem = ColumnError::Missing { name, header };
        assert!(hint_of(&DataError::Column { path: "t".into(), problem }).contains("has: a, b;"));
    }
}
