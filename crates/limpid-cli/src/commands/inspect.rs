//! `limpid inspect`: a forward pass with everything in it, and where its numbers come from.

use super::lab::Typed;
use crate::args::Inspect;
use crate::error::{Error, Result};
use limpid_server::lab::Inspector;
use limpid_server::lab::types::{
    Edit, Element, Explained, Origin, Pass, PassRequest, Prediction, Token,
};
use serde_json::json;

/// Runs the pass, and prints what is in it or the numbers that were asked for.
pub fn run(args: Inspect) -> Result<()> {
    let Inspect { model, text, second, target, target_ids, edit, number, terms, json } = args;
    let edits = edit.iter().map(|text| parse_edit(text)).collect::<Result<Vec<_>>>()?;
    let inspector = Inspector::open(&model, Box::new(Typed))?;
    let request = PassRequest { model: String::new(), text, second, target, target_ids, edits };
    let inspected = inspector.pass(request)?;
    let explain = |text: &String| -> Result<Explained> {
        let element = match serde_json::from_str::<Element>(text) {
            Ok(element) => element,
            Err(_) => inspected.element(text)?,
        };
        Ok(inspected.explain(&element, terms)?)
    };
    let numbers = number.iter().map(explain).collect::<Result<Vec<_>>>()?;
    if json {
        println!("{}", json!({ "pass": inspected.pass(), "numbers": numbers }));
    } else if numbers.is_empty() {
        print_pass(inspected.pass());
    } else {
        numbers.iter().for_each(print_number);
    }
    Ok(())
}

fn parse_edit(text: &str) -> Result<Edit> {
    serde_json::from_str(text).map_err(|error| {
        Error::config(format!("--edit {text}: {error}")).hint(
            "an edit is JSON such as {\"kind\": \"head\", \"attention\": \"self_attention\", \
             \"layer\": 0, \"head\": 1, \"how\": \"zero\"}",
        )
    })
}

fn line(tokens: &[Token]) -> String {
    let token = |(i, token): (usize, &Token)| format!("{i}:{}", token.text.trim());
    tokens.iter().enumerate().map(token).collect::<Vec<_>>().join("  ")
}

fn print_pass(pass: &Pass) {
    println!("tokens      {}", line(&pass.source));
    if let (Some(target), Some(output)) = (&pass.target, &pass.output) {
        println!("read        {}", line(target));
        println!("to predict  {}", line(output));
    }
    println!("\n{:<44}{:>8}{:>10}  role", "tensor", "rows", "columns");
    for tensor in &pass.tensors {
        println!("{:<44}{:>8}{:>10}  {}", tensor.name, tensor.rows, tensor.columns, tensor.role);
    }
    if !pass.predictions.is_empty() {
        println!("\n{:<6}{:<18}most likely", "row", "in the text");
        pass.predictions.iter().for_each(print_prediction);
    }
    pass.notes.iter().for_each(|note| println!("\n{note}"));
}

fn print_prediction(found: &Prediction) {
    let row = found.row.map_or(String::new(), |row| row.to_string());
    let chosen = found.chosen.as_ref().map_or(String::new(), |chosen| {
        format!("{} {:.3}", chosen.text.trim(), chosen.probability)
    });
    let top: Vec<String> = found
        .top
        .iter()
        .map(|ranked| format!("{} {:.3}", ranked.text.trim(), ranked.probability))
        .collect();
    println!("{row:<6}{chosen:<18}{}", top.join("  "));
}

fn print_number(found: &Explained) {
    println!("{} = {}    ({}: {})", found.name, found.value, found.operation, found.formula);
    for term in &found.terms {
        let factors: Vec<String> = term
            .factors
            .iter()
            .map(|factor| match &factor.origin {
                Origin::Element { name, element } => {
                    format!("{name}{} {:.6}", place(element), factor.value)
                }
                Origin::Param { name, .. } => format!("{name} {:.6}", factor.value),
                Origin::Constant { symbol } => format!("{symbol} {:.6}", factor.value),
            })
            .collect();
        println!("  {:>12.6}  = {}", term.value, factors.join(" · "));
    }
    if found.rest.count > 0 {
        println!("  {:>12.6}  = {} smaller terms", found.rest.sum, found.rest.count);
    }
    println!(
        "  added again in f64: {}, {:.2} units in the last place away\n",
        found.again, found.ulps
    );
}

fn place(element: &Element) -> String {
    match element {
        Element::Output { row, column, .. }
        | Element::Param { row, column, .. }
        | Element::Recurrent { row, column, .. } => format!("[{row}, {column}]"),
        Element::Weight { head, query, key, .. } | Element::Score { head, query, key, .. } => {
            format!("[{head}][{query}, {key}]")
        }
    }
}
