//! `limpid quiz`: asks, checks step by step, and prints the score.

mod output;
mod session;

use super::explain::command;
use crate::args::Quiz;
use crate::error::{Error, Result};
use crate::printer;
use limpid_learn::quiz::{Question, quiz};
use output::Output;
use serde_json::{Value, json};
use session::{Outcome, Session};
use std::io::IsTerminal;

/// Asks the selected questions, or shows their answers.
pub fn run(args: &Quiz) -> Result<()> {
    let questions = chosen(args)?;
    let terminal = std::io::stdin().is_terminal();
    let output = match (args.json, args.answers || !terminal) {
        (false, _) => Output::Stdout,
        (true, false) => Output::Stderr,
        (true, true) => Output::None,
    };
    if args.answers {
        questions.iter().for_each(|question| show(question, output));
    }
    let mut session = Session::new(std::io::stdin().lock(), terminal, output);
    if !args.answers {
        session.ask_all(&questions);
    }
    if args.json {
        let report = report(args.seed, &questions, &session);
        println!("{report:#}");
    } else if !args.answers {
        print_score(args, &session);
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
fn show(question: &Question, output: Output) {
    output.heading(question);
    for step in &question.steps {
        output.wrapped("  ", &format!("{}: {}", step.ask, step.answer));
        output.wrapped("      ", &step.formula);
    }
    output.closing(question);
}

fn print_score(args: &Quiz, session: &Session<impl std::io::BufRead>) {
    let (correct, steps, answered) = session.score();
    if steps > 0 {
        println!("{correct} of {steps} steps correct, {} not answered.", steps - answered);
    }
    let call = printer::how_to_call();
    let remark = match (correct, steps) {
        (_, 0) => "The questions were open ones: compare your answers with the model answers.",
        _ if answered == 0 => "No step was answered; --answers shows all answers.",
        (correct, steps) if correct == steps => "All correct: very well done.",
        (correct, _) if correct < answered => "The correct answers are shown above.",
        _ => "All your answers were correct.",
    };
    if steps == 0 {
        println!("{remark}");
        return;
    }
    let chosen: String = args.numbers.iter().map(|number| format!(" {number}")).collect();
    println!(
        "{remark} With other numbers: {call} quiz{chosen} --seed {}",
        args.seed.wrapping_add(1)
    );
}

/// Questions, answers and score as data.
fn report(seed: u64, questions: &[Question], session: &Session<impl std::io::BufRead>) -> Value {
    let (correct, steps, answered) = session.score();
    let mut outcomes = session.outcomes.iter();
    let entry = |question: &Question| {
        let steps = question.steps.iter().map(|step| {
            let mut value = json!(step);
            value["expects"] = step.answer.expects().into();
            // --answers prints instead of asking.
            let unasked = (Outcome::Unanswered, None);
            let (outcome, typed) = outcomes.next().unwrap_or(&unasked);
            value["answered"] = json!(typed);
            value["verdict"] = outcome.name().into();
            value
        });
        let steps: Vec<Value> = steps.collect();
        json!({
            "number": question.number, "title": question.title, "text": question.text,
            "steps": steps,
            "model_answer": question.model_answer, "command": command(&question.call),
        })
    };
    let questions: Vec<Value> = questions.iter().map(entry).collect();
    json!({
        "seed": seed,
        "questions": questions,
        "score": {"correct": correct, "answered": answered, "steps": steps},
    })
}
