//! `limpid answer`: answers to questions, found in a context.

use super::inputs::each_text;
use crate::args::Answer;
use crate::error::{Error, Result};
use crate::printer;
use limpid::QuestionAnswerer;
use limpid::encode::{Answer as Found, AnswerOptions, Impossible};
use serde_json::{Value, json};
use std::io::Read;

/// Prints the best answers to each question.
pub fn run(args: &Answer) -> Result<()> {
    let model = QuestionAnswerer::load(&args.model)?;
    printer::warnings(model.warnings());
    if let Some(question) = &args.question {
        let answers = model.answer(question, &context(args)?, options(args))?;
        print(args, question, answers);
        return Ok(());
    }
    each_text(&[], "answer", &mut |lines, origin| {
        // Nothing is printed before every line has its answers.
        let mut answered = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            let object: Option<Value> = serde_json::from_str(line).ok();
            let text = |key: &str| Some(object.as_ref()?.get(key)?.as_str()?.to_string());
            let (Some(question), Some(context)) = (text("question"), text("context")) else {
                let place = origin.place(i);
                return Err(Error::data(format!("{place} is not a question with a context")).hint(
                    "write {\"question\": \"…\", \"context\": \"…\"}, or give --question and \
                     --context",
                ));
            };
            let answers = model.answer(&question, &context, options(args))?;
            answered.push((question, answers));
        }
        answered.into_iter().for_each(|(question, answers)| print(args, &question, answers));
        Ok(())
    })
}

/// The text that has the answer.
fn context(args: &Answer) -> Result<String> {
    if let Some(context) = &args.context {
        return Ok(context.clone());
    }
    let (place, read) = match &args.context_file {
        Some(file) => (file.display().to_string(), std::fs::read_to_string(file)),
        None => {
            let mut text = String::new();
            let read = std::io::stdin().lock().read_to_string(&mut text);
            ("standard input".to_string(), read.map(|_| text))
        }
    };
    let text = read.map_err(|e| {
        Error::data(format!("{place}: {e}")).hint("give a text file in UTF-8, or --context TEXT")
    })?;
    if text.trim().is_empty() {
        return Err(Error::data(format!("{place} has no text"))
            .hint("the answer is found in it: --context TEXT or --context-file FILE"));
    }
    Ok(text)
}

fn options(args: &Answer) -> AnswerOptions {
    AnswerOptions {
        max_seq_len: args.max_seq_len.map(|n| n as usize),
        doc_stride: args.doc_stride.map(|n| n as usize),
        max_answer_len: args.max_answer_len as usize,
        top_k: args.top as usize,
        impossible: if args.impossible { Impossible::Allowed } else { Impossible::Never },
    }
}

fn print(args: &Answer, question: &str, answers: Vec<Found>) {
    if args.json {
        let answers: Vec<Value> = answers.iter().map(as_json).collect();
        println!("{}", json!({ "question": question, "answers": answers }));
        return;
    }
    for Found { answer, score, start, end } in answers {
        let shown = if answer.is_empty() { "(no answer)" } else { &answer };
        println!("{score:>7.4}  {shown} ({start}..{end})");
    }
}

fn as_json(found: &Found) -> Value {
    let Found { answer, score, start, end } = found;
    json!({ "answer": answer, "score": score, "start": start, "end": end })
}
