//! Explanations as text for a terminal: wrapped prose, formulas above aligned tables, notes below.

use super::catalogue::{Example, Usual, examples};
use super::model::{Cell, Explanation, Note, Step, Table};
use super::number;

/// Whether the text carries colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Nothing but the text.
    Plain,
    /// ANSI colours.
    Colour,
}

/// Below this, prose is no longer read; a narrower terminal wraps for itself.
const NARROWEST: usize = 30;
/// Above this, lines of prose are tiring.
const WIDEST_PROSE: usize = 96;
const GAP: &str = "  ";

#[derive(Clone, Copy)]
enum Paint {
    Title,
    Formula,
    Dim,
    Warn,
}

impl Style {
    fn paint(self, paint: Paint, text: &str) -> String {
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
    lines.extend(wrap(&explanation.story, "", "", width));
    for (i, step) in explanation.steps.iter().enumerate() {
        lines.push(String::new());
        lines.extend(step_lines(i + 1, step, style, width));
    }
    let also: Vec<String> =
        explanation.see_also.iter().map(|name| format!("limpid explain {name}")).collect();
    lines.push(String::new());
    let see_also = wrap(&format!("See also: {}", also.join(" · ")), "", "          ", width);
    lines.extend(see_also.iter().map(|line| style.paint(Paint::Dim, line)));
    finish(lines)
}

/// All examples in reading order, for a bare `limpid explain`.
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
    lines.push(String::new());
    for (command, what) in [
        ("limpid explain self-attention", "one of them"),
        ("limpid explain self-attention --tokens \"1 0 0 1; 0 1 1 0\"", "with your numbers"),
        ("limpid explain self-attention --json", "for a program"),
    ] {
        lines.push(format!("  {command}  {}", style.paint(Paint::Dim, &format!("# {what}"))));
    }
    finish(lines)
}

/// What can be changed in an example, for its help.
pub fn options(example: &Example, style: Style, width: usize) -> String {
    let width = width.max(NARROWEST);
    let mut lines = Vec::new();
    for option in example.options {
        let names: Vec<String> =
            [option.name].iter().chain(option.aliases).map(|name| format!("--{name}")).collect();
        lines.push(
            style.paint(Paint::Title, &format!("  {} <{}>", names.join(", "), option.takes.placeholder())),
        );
        let usual = match option.usual {
            Usual::Text(text) => format!("\"{text}\""),
            Usual::Derived(text) => text.to_owned(),
        };
        let choices = match option.takes {
            super::Takes::Choice(choices) => format!(" ({})", choices.join(" | ")),
            _ => String::new(),
        };
        lines.extend(wrap(&format!("{}{choices} [usually {usual}]", option.help), "      ", "      ", width));
    }
    finish(lines)
}

fn heading(text: &str, style: Style) -> Vec<String> {
    vec![style.paint(Paint::Title, text), style.paint(Paint::Dim, &"═".repeat(columns(text))), String::new()]
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
        let blocks =
            step.tables.iter().flat_map(|table| blocks(table, style, width - columns(indent))).collect();
        lines.extend(
            side_by_side(blocks, width - columns(indent)).into_iter().map(|l| format!("{indent}{l}")),
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
        Note::OftenPrinted { printed, correct, because } => {
            let text = format!("Often printed as {printed}, but it is {correct}: {because}.");
            wrap(&text, "   ! ", "     ", width).iter().map(|line| style.paint(Paint::Warn, line)).collect()
        }
    }
}

/// Lines of one width each, to be placed beside others.
struct Block {
    lines: Vec<String>,
    width: usize,
}

/// A table, cut into several where its columns do not fit the width.
fn blocks(table: &Table, style: Style, width: usize) -> Vec<Block> {
    let labels = table.row_labels.iter().map(|label| columns(label)).max().unwrap_or(0);
    let cells = columns_of(table);
    let widths: Vec<usize> = cells.iter().map(|column| columns(&column[0])).collect();
    let mut blocks = Vec::new();
    let mut from = 0;
    while from < cells.len() || blocks.is_empty() {
        // At least one column, however narrow the terminal.
        let mut to = (from + 1).min(cells.len());
        let mut used = labels + widths[from..to].iter().sum::<usize>() + GAP.len();
        while to < cells.len() && used + GAP.len() + widths[to] <= width {
            used += GAP.len() + widths[to];
            to += 1;
        }
        let title = match from {
            0 => table.title.clone(),
            _ => format!("{}, continued", table.title),
        };
        blocks.push(block(&title, &table.row_labels, labels, &cells[from..to], style));
        from = to.max(from + 1);
    }
    blocks
}

fn block(title: &str, row_labels: &[String], labels: usize, cells: &[Vec<String>], style: Style) -> Block {
    let line = |label: &str, row: usize| {
        let joined: String = cells.iter().map(|column| format!("{GAP}{}", column[row])).collect();
        (pad(label, labels), joined)
    };
    let (blank, header) = line("", 0);
    let width = columns(title).max(labels + columns(&header));
    let mut lines = Vec::new();
    if !title.is_empty() {
        lines.push(pad(title, width));
    }
    if !header.trim().is_empty() {
        lines.push(style.paint(Paint::Dim, &pad(&format!("{blank}{header}"), width)));
    }
    for (i, label) in row_labels.iter().enumerate() {
        let (label, joined) = line(label, i + 1);
        let rest = width - columns(&label) - columns(&joined);
        lines.push(format!("{}{joined}{}", style.paint(Paint::Dim, &label), " ".repeat(rest)));
    }
    Block { lines, width }
}

/// The columns of a table as text: header, then cells, all of one width, numbers aligned at the decimal point.
fn columns_of(table: &Table) -> Vec<Vec<String>> {
    let column = |j: usize| table.cells.iter().map(move |row| &row[j]);
    let numbers = |j: usize| -> Vec<f64> {
        let number = |cell: &Cell| if let Cell::Number(x) = cell { Some(*x) } else { None };
        column(j).filter_map(number).collect()
    };
    // One number of decimals for the whole table, but counts beside fractions keep their own.
    let fractions: Vec<f64> = (0..table.col_labels.len())
        .map(numbers)
        .filter(|column| !column.iter().all(|x| number::is_whole(*x)))
        .flatten()
        .collect();
    let decimals = number::decimals(&fractions);
    (0..table.col_labels.len())
        .map(|j| {
            let has_text = column(j).any(|cell| matches!(cell, Cell::Text(_)));
            let texts: Vec<(String, String)> = column(j).map(|cell| halves(cell, decimals)).collect();
            let left = texts.iter().map(|(left, _)| columns(left)).max().unwrap_or(0);
            let right = texts.iter().map(|(_, right)| columns(right)).max().unwrap_or(0);
            let header = &table.col_labels[j];
            let width = columns(header).max(left + right);
            let mut lines = vec![if has_text { pad(header, width) } else { pad_left(header, width) }];
            lines.extend(texts.iter().map(|(l, r)| {
                let aligned = if has_text {
                    format!("{l}{r}")
                } else {
                    format!("{}{}", pad_left(l, left), pad(r, right))
                };
                if has_text { pad(&aligned, width) } else { pad_left(&aligned, width) }
            }));
            lines
        })
        .collect()
}

/// What stands before the decimal point, and the rest.
fn halves(cell: &Cell, decimals: usize) -> (String, String) {
    let text = match cell {
        Cell::Number(x) => number::fixed(*x, decimals),
        Cell::Masked => "−∞".to_owned(),
        Cell::Text(text) => return (text.clone(), String::new()),
        Cell::Empty => String::new(),
    };
    match text.find('.') {
        Some(point) => (text[..point].to_owned(), text[point..].to_owned()),
        None => (text, String::new()),
    }
}

/// Blocks beside each other as long as they fit, then below.
fn side_by_side(blocks: Vec<Block>, width: usize) -> Vec<String> {
    const BETWEEN: usize = 5;
    let mut lines: Vec<String> = Vec::new();
    let mut blocks = blocks.into_iter().peekable();
    while let Some(first) = blocks.next() {
        let (mut used, mut shelf) = (first.width, vec![first]);
        while let Some(next) = blocks.next_if(|next| used + BETWEEN + next.width <= width) {
            used += BETWEEN + next.width;
            shelf.push(next);
        }
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let height = shelf.iter().map(|block| block.lines.len()).max().unwrap_or(0);
        for i in 0..height {
            let cells = shelf
                .iter()
                .map(|block| block.lines.get(i).cloned().unwrap_or_else(|| " ".repeat(block.width)));
            lines.push(cells.collect::<Vec<_>>().join(&" ".repeat(BETWEEN)));
        }
    }
    lines
}

/// Prose in lines of at most `width` columns. Wider gaps, as between two formulas, stay as they are inside a line.
fn wrap(text: &str, first: &str, rest: &str, width: usize) -> Vec<String> {
    let width = width.min(WIDEST_PROSE);
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    let mut gap = 0;
    for word in text.split(' ') {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        if !is_fresh && columns(&line) + 1 + gap + columns(word) > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_fresh = true;
        }
        if !is_fresh {
            line.push_str(&" ".repeat(1 + gap));
        }
        line.push_str(word);
        (is_fresh, gap) = (false, 0);
    }
    lines.push(line);
    lines
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// How many columns a terminal gives a text: none to an accent that joins the letter before it, two to a wide letter.
pub(super) fn columns(text: &str) -> usize {
    let width = |c: char| match u32::from(c) {
        0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x20D0..=0x20FF | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F => 2,
        0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        _ => 1,
    };
    text.chars().map(width).sum()
}
