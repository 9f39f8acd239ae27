//! Explanations as text for a terminal: wrapped prose, formulas above aligned tables, notes below.

use super::catalogue::{DefaultValue, Example, ValueKind, examples};
use super::layout::{blocks, columns, pad, side_by_side, wrap};
use super::model::{Explanation, Note, Step};

/// Whether the text carries colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Nothing but the text.
    Plain,
    /// ANSI colours.
    Colour,
}

/// Narrower prose is unreadable: below this, the terminal may wrap lines itself.
const NARROWEST: usize = 30;
/// What a piece of text is.
#[derive(Clone, Copy)]
pub(super) enum Paint {
    Title,
    Formula,
    Dim,
    Warn,
}

impl Style {
    pub(super) fn paint(self, paint: Paint, text: &str) -> String {
        let code = match paint {
            Paint::Title => "1",
            Paint::Formula => "36",
            Paint::Dim => "2",
            Paint::Warn => "33",
        };
        match self {
            Style::Plain => text.to_owned(),
            Style::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// The explanation as lines of at most `width` columns (a single long word may be longer).
pub fn render(explanation: &Explanation, style: Style, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut lines = heading(&format!("{}: {}", explanation.name, explanation.title), style);
    lines.extend(wrap(&explanation.introduction, "", "", width));
    for (i, step) in explanation.steps.iter().enumerate() {
        lines.push(String::new());
        lines.extend(step_lines(i + 1, step, style, width));
    }
    lines.push(String::new());
    let see_also =
        wrap(&format!("See also: {}", explanation.see_also.join(", ")), "", "          ", width);
    lines.extend(see_also.iter().map(|line| style.paint(Paint::Dim, line)));
    finish(lines)
}

/// All examples in reading order, numbered as [`super::find`] counts them.
pub fn list(style: Style, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut lines = heading("Worked examples, in reading order", style);
    lines.extend(wrap(
        "Each is small enough to check by hand, and is computed by the code that trains models.",
        "",
        "",
        width,
    ));
    lines.push(String::new());
    let longest = examples().iter().map(|example| columns(example.name)).max().unwrap_or(0);
    for (i, example) in examples().iter().enumerate() {
        let first = format!("{:>4}  {}  ", i + 1, pad(example.name, longest));
        let indent = " ".repeat(columns(&first));
        // On a narrow terminal the summary goes below the name.
        let (first, indent) = if width < columns(&indent) + NARROWEST {
            lines.push(style.paint(Paint::Title, first.trim_end()));
            ("      ".to_owned(), "      ".to_owned())
        } else {
            (style.paint(Paint::Title, &first), indent)
        };
        let body = wrap(example.summary, "", "", width - columns(&indent));
        lines.extend(
            body.iter()
                .enumerate()
                .map(|(j, line)| format!("{}{line}", if j == 0 { &first } else { &indent })),
        );
    }
    finish(lines)
}

/// The options of an example with their defaults; `prefix` stands before each key, as a command
/// line writes it.
pub fn options(example: &Example, prefix: &str, style: Style, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut lines = Vec::new();
    for option in example.options {
        let names: Vec<String> = [option.name]
            .iter()
            .chain(option.aliases)
            .map(|key| format!("{prefix}{key}"))
            .collect();
        lines.push(style.paint(
            Paint::Title,
            &format!("  {} <{}>", names.join(", "), option.kind.placeholder()),
        ));
        let default = match option.default {
            DefaultValue::Text(text) => format!("\"{text}\""),
            DefaultValue::Computed(text) => text.to_owned(),
        };
        let choices = match option.kind {
            ValueKind::Choice(choices) => format!(" ({})", choices.join(" | ")),
            _ => String::new(),
        };
        lines.extend(wrap(
            &format!("{}{choices} [default: {default}]", option.help),
            "      ",
            "      ",
            width,
        ));
    }
    finish(lines)
}

fn heading(text: &str, style: Style) -> Vec<String> {
    vec![
        style.paint(Paint::Title, text),
        style.paint(Paint::Dim, &"═".repeat(columns(text))),
        String::new(),
    ]
}

fn finish(lines: Vec<String>) -> String {
    let mut text: String = lines.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    if text.is_empty() {
        text.push('\n');
    }
    text
}

fn step_lines(number: usize, step: &Step, style: Style, width: usize) -> Vec<String> {
    let indent = "   ";
    let title = wrap(&step.title, &format!("{number:<2} "), indent, width);
    let mut lines: Vec<String> = title.iter().map(|line| style.paint(Paint::Title, line)).collect();
    let formula = wrap(&step.formula, indent, "     ", width);
    lines.extend(formula.iter().map(|line| style.paint(Paint::Formula, line)));
    if let Some(why) = &step.why {
        lines.extend(wrap(why, indent, indent, width));
    }
    if !step.tables.is_empty() {
        lines.push(String::new());
        let blocks = step
            .tables
            .iter()
            .flat_map(|table| blocks(table, style, width - columns(indent)))
            .collect();
        lines.extend(
            side_by_side(blocks, width - columns(indent))
                .into_iter()
                .map(|l| format!("{indent}{l}")),
        );
    }
    if !step.notes.is_empty() {
        lines.push(String::new());
    }
    for note in &step.notes {
        lines.extend(note_lines(note, style, width));
    }
    lines
}

fn note_lines(note: &Note, style: Style, width: usize) -> Vec<String> {
    match note {
        Note::Remark { text } => wrap(text, "   · ", "     ", width),
        Note::Misconception { claim, correct, reason } => {
            let text = format!("A common misconception: {claim}. Correct: {correct}; {reason}.");
            wrap(&text, "   ! ", "     ", width)
                .iter()
                .map(|line| style.paint(Paint::Warn, line))
                .collect()
        }
    }
}
