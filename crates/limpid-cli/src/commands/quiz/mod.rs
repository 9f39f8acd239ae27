//! `limpid quiz`: asks, checks step by step, and says how it went.

mod session;
mod voice;

use crate::args::Quiz;
use crate::printer;
use limpid::error::{Error, Result};
use limpid::inspect::quiz::{Question, quiz};
use serde_json::{Value, json};
use session::{Outcome, Session};
use std::io::IsTerminal;
use voice::Voice;

/// Asks the questions that were chosen, or shows their answers.
pub fn run(args: &Quiz) -> Result<()> {
    let questions = chosen(args)?;
    let terminal = std::io::stdin().is_terminal();
    let voice = match (args.json, args.answers || !terminal) {
        (false, _) => Voice::Output,
        (true, false) => Voice::Error,
        (true, true) => Voice::Silent,
    };
    if args.answers {
        questions.iter().for_each(|question| show(question, voice));
    }
    let mut session = Session::new(std::io::stdin().lock(), terminal, voice);
    if !args.answers {
        session.ask_all(&questions);
    }
    if args.json {
        let report = report(args.seed, &questions, &session);
        println!("{report:#}");
    } else if !args.answers {
        tell_score(args, &session);
    }
    Ok(())
}

fn chosen(args: &Quiz) -> Result<Vec<Question>> {
    let all = quiz(args.seed)?;
    if let Some(number) = args.numbers.iter().find(|number| !(1..=all.len()).contains(number)) {
        return Err(Error::config(format!("there is no question {number}"))
            .hint(format!("use 1 to {}; limpid quiz --answers lists them", all.len())));
    }
    if args.numbers.is_empty() {
        return Ok(all);
    }
    Ok(args.numbers.iter().map(|number| all[number - 1].clone()).collect())
}

/// A question with all its answers.
fn show(question: &Question, voice: Voice) {
    voice.heading(question);
    for step in &question.steps {
        voice.wrapped("  ", &format!("{}: {}", step.ask, step.right.shown()));
        voice.wrapped("      ", &step.formula);
    }
    voice.closing(question);
}

fn tell_score(args: &Quiz, session: &Session<impl std::io::BufRead>) {
    let (right, steps, answered) = session.score();
    if steps > 0 {
        println!("{right} of {steps} steps right, {} not answered.", steps - answered);
    }
    let call = printer::how_to_call();
    let remark = match (right, steps) {
        (_, 0) => "Thank you for thinking along.",
        _ if answered == 0 => "Nothing was answered this time; --answers shows everything.",
        (right, steps) if right == steps => "All of them: very well done.",
        (right, _) if right < answered => "What was missed is explained above.",
        _ => "What you answered was right.",
    };
    if steps == 0 {
        println!("{remark}");
        return;
    }
    let chosen: String = args.numbers.iter().map(|number| format!(" {number}")).collect();
    println!("{remark} With other numbers: {call} quiz{chosen} --seed {}", args.seed.wrapping_add(1));
}

/// Everything that was asked, said and right, as data.
fn report(seed: u64, questions: &[Question], session: &Session<impl std::io::BufRead>) -> Value {
    let (right, steps, answered) = session.score();
    let mut outcomes = session.outcomes.iter();
    let entry = |question: &Question| {
        let steps = question.steps.iter().map(|step| {
            let mut value = json!(step);
            value["expects"] = step.right.expects().into();
            // Where nothing was asked, nothing was answered.
            let unasked = (Outcome::Unanswered, None);
            let (outcome, typed) = outcomes.next().unwrap_or(&unasked);
            value["answered"] = json!(typed);
            value["verdict"] = outcome.name().into();
            value
        });
        let steps: Vec<Value> = steps.collect();
        json!({
            "number": question.number, "title": question.title, "text": question.text, "steps": steps,
            "answer": question.answer, "command": question.command,
        })
    };
    let questions: Vec<Value> = questions.iter().map(entry).collect();
    json!({
        "seed": seed,
        "questions": questions,
        "score": {"right": right, "answered": answered, "steps": steps},
    })
}
