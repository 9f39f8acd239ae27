//! Output: data to standard output, progress and errors to standard error.

use crate::error::Error;
use crate::hints;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use limpid::hub::Warning;
use std::io::{IsTerminal, Write};

/// Whether standard output takes colours: a terminal, and `NO_COLOR` is not set.
pub fn colour() -> bool {
    std::io::stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns to print: those of the terminal, from 40 to 100; 80 without a terminal.
pub fn width() -> usize {
    terminal_width().map_or(80, |width| width.clamp(40, 100))
}

/// Columns of the terminal; `None` without one.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Prints `error: …` and `hint: …` to standard error.
pub fn print_error(error: &Error) {
    let hint = error.hint_text().filter(|hint| hints::fits(hint));
    let mut err = std::io::stderr().lock();
    // Standard error may be closed: then there is nowhere to report it.
    let _ = writeln!(err, "error: {error}");
    if let Some(hint) = hint {
        let _ = writeln!(err, "hint: {hint}");
    }
}

/// Prints the warnings of loading a model folder.
pub fn warnings(warnings: &[Warning]) {
    for warning in warnings {
        say(format_args!("warning: {warning}"));
    }
}

/// Warns of words that are out of vocabulary: the model saw an unknown token instead.
pub fn unknown_words(words: &[String], name: &str) {
    if !words.is_empty() {
        let listed: Vec<String> = words.iter().take(5).map(|word| shortened(word)).collect();
        let more = if words.len() > 5 { ", …" } else { "" };
        let (listed, count) = (listed.join(", "), words.len());
        say(format_args!("warning: {name}: {count} not in the model's vocabulary: {listed}{more}"));
    }
}

/// A word, cut after 40 characters.
fn shortened(word: &str) -> String {
    const MAX_CHARS: usize = 40;
    match word.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}… ({} characters)", &word[..end], word.chars().count()),
        None => word.to_string(),
    }
}

/// The text with control characters replaced: a byte-level model can generate some that would ring
/// the bell or move the cursor.
pub fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// Installs a panic hook: a closed pipe (`limpid … | head`) ends the program with code 0, a full
/// disk with an error and code 2. (`println!` panics in both cases.)
pub fn exit_when_stdout_closes() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if let Some(reason) = message.strip_prefix("failed printing to stdout: ") {
            if reason.contains("Broken pipe") {
                std::process::exit(0);
            }
            print_error(
                &Error::data(format!("cannot write to standard output: {reason}"))
                    .hint("is the disk full?"),
            );
            std::process::exit(2);
        }
        // The library catches these: a damaged tokenizer.json makes the tokenizers crate panic.
        let in_tokenizers = |file: &str| file.contains("/tokenizers-");
        if !info.location().is_some_and(|location| in_tokenizers(location.file())) {
            default(info);
        }
    }));
}

/// How to call this program: through cargo if it was started that way.
pub fn how_to_call() -> &'static str {
    if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "limpid" }
}

/// Prints a status line to standard error. A failure to write it (a log on a full disk) does not
/// end the command.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A number with thousands separators.
pub fn thousands(n: usize) -> String {
    limpid::report::thousands(n as u64)
}

/// A count with its noun: "1 step", "1,000 steps".
pub fn counted(n: usize, what: &str) -> String {
    limpid::report::counted(n as u64, what)
}

/// Bytes in kB, MB or GB.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => format!("{:.0} kB", (b / 1e3).ceil()),
        b if b < 1e8 => format!("{:.0} MB", b / 1e6),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A path, quoted for a shell where needed.
pub fn quoted(path: &std::path::Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "_./-+=:@%,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// A perplexity; scientific notation from 10⁷ on.
pub fn perplexity(value: f64) -> String {
    if value < 1e7 { format!("{value:.4}") } else { format!("{value:.3e}") }
}

/// Seconds in s, min or h.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Progress of a training run: a bar on a terminal, every tenth of the steps a line elsewhere.
pub struct Training {
    bar: ProgressBar,
    started: std::time::Instant,
    tokens: usize,
    loss: f32,
    plain: bool,
    next_line: u64,
    /// Steps done before this process resumed the run.
    before: u64,
    /// Tokens per second, measured over the steps only.
    rate: Option<f64>,
}

impl Training {
    /// A run of `steps` steps.
    pub fn new(steps: u64) -> Self {
        Self::resumed(0, steps)
    }

    /// A run of `steps` steps, resumed after `before` of them.
    pub fn resumed(before: u64, steps: u64) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain {
            ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden())
        } else {
            ProgressBar::new(steps)
        };
        // A line that does not fit is wrapped, and the next redraw appears below it.
        let narrow = width() < 72;
        let template = if narrow {
            "  {bar:8} {pos}/{len}  {msg}  {eta} to go"
        } else {
            "  {bar:20} {pos}/{len}  {msg}  {eta} to go"
        };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_position(before);
        bar.reset_eta();
        let started = std::time::Instant::now();
        Self {
            bar,
            started,
            tokens: 0,
            loss: f32::NAN,
            plain,
            next_line: before + 1,
            before,
            rate: None,
        }
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        if self.plain { say(line) } else { self.bar.println(line) }
    }

    /// Sets the throughput, without the time between steps.
    pub fn measured(&mut self, tokens_per_second: Option<f64>) {
        self.rate = tokens_per_second.or(self.rate);
    }

    /// Shows a finished step.
    pub fn step(&mut self, step: u64, steps: u64, loss: f32, tokens: usize) {
        self.tokens += tokens;
        // An exponential moving average over about twenty steps: single batches are noisy.
        self.loss = if self.loss.is_nan() { loss } else { 0.95 * self.loss + 0.05 * loss };
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = self.rate.unwrap_or(self.tokens as f64 / seconds.max(1e-9));
        self.bar.set_position(step);
        self.bar.set_message(format!("loss {:.3}  {:.0}k tokens/s", self.loss, rate / 1e3));
        if self.plain && (step == self.next_line || step == steps) {
            let left = seconds / (step - self.before) as f64 * (steps - step) as f64;
            let (loss, rate) = (self.loss, rate / 1e3);
            say(format_args!(
                "  step {step}/{steps}  loss {loss:.3}  {rate:.1}k tokens/s  {left:.0}s to go"
            ));
            self.next_line = (step + steps / 10).max(step + 1).min(steps);
        }
    }

    /// Removes the bar.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// Ends the progress and returns the elapsed seconds.
    pub fn finish(self) -> f64 {
        // `finish` would fill the bar of a run that was stopped early.
        if self.bar.position() < self.bar.length().unwrap_or(0) {
            self.bar.finish_and_clear();
        } else {
            self.bar.finish();
        }
        self.started.elapsed().as_secs_f64()
    }
}

/// Progress through bytes or items: a bar on a terminal, nothing elsewhere.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Progress counted in bytes.
    pub fn bytes(what: &'static str, bytes: u64) -> Self {
        Self::new(what, bytes, "  {msg} {bar:20} {binary_bytes}/{binary_total_bytes}  {eta} to go")
    }

    /// Progress counted in items.
    pub fn count(what: &'static str, count: u64) -> Self {
        Self::new(what, count, "  {msg} {bar:20} {pos}/{len}  {eta} to go")
    }

    fn new(what: &'static str, len: u64, template: &str) -> Self {
        let hidden = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::hidden());
        let bar = if std::io::stderr().is_terminal() { ProgressBar::new(len) } else { hidden };
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_message(what);
        Self { bar }
    }

    /// Sets what is done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_of_generated_text_are_replaced() {
        assert_eq!(visible("a\u{7}b\n\t\u{1b}[2Jé"), "a\u{fffd}b\n\t\u{fffd}[2Jé");
    }

    #[test]
    fn sizes_have_the_unit_that_they_need() {
        let sizes = [1.0, 43_210.0, 2.4e6, 5.4e8].map(size);
        assert_eq!(sizes, ["1 kB", "44 kB", "2 MB", "0.5 GB"]);
    }

    #[test]
    fn a_long_word_is_shortened_with_its_length() {
        assert_eq!(shortened(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(shortened(&"é".repeat(41)), format!("{}… (41 characters)", "é".repeat(40)));
    }
}
