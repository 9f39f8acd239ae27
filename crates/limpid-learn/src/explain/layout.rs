//! Laying out text on a terminal: prose in lines, tables in columns, tables beside each other.

use super::model::{Cell, Table};
use super::number;
use super::render::{Paint, Style};

/// Above this, lines of prose are tiring.
const WIDEST_PROSE: usize = 96;
/// A row of numbers in a sentence is kept together up to here.
const LONGEST_ROW: usize = 32;
/// Between the columns of a table.
const GAP: &str = "  ";

/// Lines of one width each, to be placed beside others.
pub(super) struct Block {
    /// Empty if there is none.
    title: String,
    lines: Vec<String>,
    width: usize,
}

/// A table, cut into several where its columns do not fit the width.
pub(super) fn blocks(table: &Table, style: Style, width: usize) -> Vec<Block> {
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
            _ if table.title.is_empty() => "continued".to_owned(),
            _ => format!("{}, continued", table.title),
        };
        blocks.push(block(&title, &table.row_labels, labels, &cells[from..to], style));
        from = to.max(from + 1);
    }
    blocks
}

fn block(
    title: &str,
    row_labels: &[String],
    labels: usize,
    cells: &[Vec<String>],
    style: Style,
) -> Block {
    let line = |label: &str, row: usize| {
        let joined: String = cells.iter().map(|column| format!("{GAP}{}", column[row])).collect();
        (pad(label, labels), joined)
    };
    let (blank, header) = line("", 0);
    let width = columns(title).max(labels + columns(&header));
    let mut lines = Vec::new();
    if !header.trim().is_empty() {
        lines.push(style.paint(Paint::Dim, &pad(&format!("{blank}{header}"), width)));
    }
    for (i, label) in row_labels.iter().enumerate() {
        let (label, joined) = line(label, i + 1);
        let rest = width - columns(&label) - columns(&joined);
        lines.push(format!("{}{joined}{}", style.paint(Paint::Dim, &label), " ".repeat(rest)));
    }
    Block { title: title.to_owned(), lines, width }
}

/// The columns of a table as text: header, then cells, all of one width, numbers aligned at the
/// decimal point.
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
    let decimals = number::decimals(&fractions).max(table.decimals);
    (0..table.col_labels.len())
        .map(|j| {
            let has_text = column(j).any(|cell| matches!(cell, Cell::Text(_)));
            let texts: Vec<(String, String)> =
                column(j).map(|cell| halves(cell, decimals)).collect();
            let left = texts.iter().map(|(left, _)| columns(left)).max().unwrap_or(0);
            let right = texts.iter().map(|(_, right)| columns(right)).max().unwrap_or(0);
            let header = &table.col_labels[j];
            let width = columns(header).max(left + right);
            let mut lines =
                vec![if has_text { pad(header, width) } else { pad_left(header, width) }];
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
pub(super) fn side_by_side(blocks: Vec<Block>, width: usize) -> Vec<String> {
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
        // Titles stand on a line of their own, so that the tables below begin together.
        if shelf.iter().any(|block| !block.title.is_empty()) {
            for block in &mut shelf {
                block.lines.insert(0, pad(&block.title, block.width));
            }
        }
        let height = shelf.iter().map(|block| block.lines.len()).max().unwrap_or(0);
        for i in 0..height {
            let cells = shelf.iter().map(|block| {
                block.lines.get(i).cloned().unwrap_or_else(|| " ".repeat(block.width))
            });
            lines.push(cells.collect::<Vec<_>>().join(&" ".repeat(BETWEEN)));
        }
    }
    lines
}

/// Prose in lines of at most `width` columns. Wider gaps, as between two formulas, stay as they are
/// inside a line.
pub(super) fn wrap(text: &str, first: &str, rest: &str, width: usize) -> Vec<String> {
    let width = width.min(WIDEST_PROSE);
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_fresh = true;
    let mut gap = 0;
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        if word.is_empty() {
            gap += 1;
            continue;
        }
        let mut word = word.to_owned();
        // "[1 1 1 0]" is one thing.
        while is_open(&word)
            && columns(&word) < LONGEST_ROW
            && let Some(next) = words.next_if(|next| !next.is_empty())
        {
            word = format!("{word} {next}");
        }
        if !is_fresh && columns(&line) + 1 + gap + columns(&word) > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_fresh = true;
        }
        if !is_fresh {
            line.push_str(&" ".repeat(1 + gap));
        }
        line.push_str(&word);
        (is_fresh, gap) = (false, 0);
    }
    lines.push(line);
    lines
}

/// Whether a row of numbers has begun and not ended: "[0, 1)" has.
fn is_open(word: &str) -> bool {
    let count = |c: &[char]| word.matches(c).count();
    word.contains('[') && count(&['[', '(']) > count(&[']', ')'])
}

pub(super) fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

fn pad_left(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// How many columns a terminal gives a text: none to an accent that joins the letter before it, two
/// to a wide letter.
pub(super) fn columns(text: &str) -> usize {
    let width = |c: char| match u32::from(c) {
        0x0300..=0x036F | 0x1AB0..=0x1AFF | 0x20D0..=0x20FF | 0x200B..=0x200F | 0xFE00..=0xFE0F => {
            0
        }
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0xFE30..=0xFE6F => {
            2
        }
        0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        _ => 1,
    };
    text.chars().map(width).sum()
}
