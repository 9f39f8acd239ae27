//! How things are said: data to standard output, progress and errors to standard error.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use limpid::error::Error;
use limpid::hub::Warning;
use std::io::{IsTerminal, Write};

/// Whether colours are welcome on standard output.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal, 100 at most (longer lines are hard to read); 80 where there is none.
pub fn width() -> usize {
    terminal_width().map_or(80, |width| width.clamp(40, 100))
}

/// Columns of the terminal, if there is one.
pub fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// `error: …` and `hint: …` on standard error.
pub fn print_error(error: &Error) {
    let mut err = std::io::stderr().lock();
    // Nobody is left to tell when standard error itself is gone.
    let _ = writeln!(err, "error: {error}");
    if let Some(hint) = error.hint_text() {
        let _ = writeln!(err, "hint: {hint}");
    }
}

/// Names what in a model folder was passed over.
pub fn warnings(warnings: &[Warning]) {
    for warning in warnings {
        say(format_args!("warning: {warning}"));
    }
}

/// A model with a closed vocabulary guesses at what it has never seen: the reader should know.
pub fn unknown_words(words: &[String], name: &str) {
    if !words.is_empty() {
        let listed: Vec<String> = words.iter().take(5).map(|word| shortened(word)).collect();
        let more = if words.len() > 5 { ", …" } else { "" };
        let (listed, count) = (listed.join(", "), words.len());
        say(format_args!("warning: {name}: {count} not in the model's vocabulary: {listed}{more}"));
    }
}

/// The beginning of a word that would fill a screen.
fn shortened(word: &str) -> String {
    const LONGEST: usize = 40;
    match word.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}… ({} characters)", &word[..end], word.chars().count()),
        None => word.to_string(),
    }
}

/// What a terminal should not see: a model of bytes also writes those that would ring a bell or move the cursor.
pub fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// A reader that stops reading (`limpid … | head`) ends the program without a complaint; a full disk with an error.
pub fn watch_standard_output() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let message = info.payload().downcast_ref::<String>().map_or("", String::as_str);
        if let Some(reason) = message.strip_prefix("failed printing to stdout: ") {
            if reason.contains("Broken pipe") {
                std::process::exit(0);
            }
            print_error(
                &Error::data(format!("cannot write to standard output: {reason}")).hint("is the disk full?"),
            );
            std::process::exit(2);
        }
        default(info);
    }));
}

/// What to type to get this program again: through cargo if that is how it was started.
pub fn how_to_call() -> &'static str {
    if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "limpid" }
}

/// A line on standard error: what happens now. That it cannot be written (the log is on a disk that is full) is no reason to stop working.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A number with commas between its thousands.
pub fn thousands(n: usize) -> String {
    limpid::report::thousands(n as u64)
}

/// So many of them: "1 step", "1,000 steps".
pub fn counted(n: usize, what: &str) -> String {
    limpid::report::counted(n as u64, what)
}

/// Bytes as a person says them.
pub fn size(bytes: f64) -> String {
    match bytes {
        b if b < 1e8 => format!("{:.0} MB", (b / 1e6).max(1.0)),
        b => format!("{:.1} GB", b / 1e9),
    }
}

/// A path as one types it into a shell.
pub fn quoted(path: &std::path::Path) -> String {
    let path = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "_./-+=:@%,".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        path
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}

/// A perplexity, which has no largest value.
pub fn perplexity(value: f64) -> String {
    if value < 1e7 { format!("{value:.4}") } else { format!("{value:.3e}") }
}

/// Seconds as a person says them.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Progress of a training: a bar on a terminal, a line now and then elsewhere.
pub struct Training {
    bar: ProgressBar,
    started: std::time::Instant,
    tokens: usize,
    loss: f32,
    plain: bool,
    next_line: u64,
    /// Steps that were done in another sitting.
    before: u64,
    /// Tokens a second of the steps alone, as somebody measured them.
    rate: Option<f64>,
}

impl Training {
    /// A run of `steps` steps.
    pub fn new(steps: u64) -> Self {
        Self::resumed(0, steps)
    }

    /// A run of `steps` steps, of which `before` are done.
    pub fn resumed(before: u64, steps: u64) -> Self {
        let plain = !std::io::stderr().is_terminal();
        let bar = if plain {
            ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden())
        } else {
            ProgressBar::new(steps)
        };
        // A line that does not fit is broken in two, and the next one is drawn below it.
        let narrow = width() < 72;
        let template = if narrow {
            "  {bar:8} {pos}/{len}  {msg}  {eta} to go"
        } else {
            "  {bar:20} {pos}/{len}  {msg}  {eta} to go"
        };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_position(before);
        bar.reset_eta();
        let started = std::time::Instant::now();
        Self { bar, started, tokens: 0, loss: f32::NAN, plain, next_line: before + 1, before, rate: None }
    }

    /// A line above the bar.
    pub fn say(&self, line: &str) {
        if self.plain { say(line) } else { self.bar.println(line) }
    }

    /// So many tokens a second, not counting what is done between steps.
    pub fn measured(&mut self, tokens_per_second: Option<f64>) {
        self.rate = tokens_per_second.or(self.rate);
    }

    /// One step done.
    pub fn step(&mut self, step: u64, steps: u64, loss: f32, tokens: usize) {
        self.tokens += tokens;
        // A moving average of about twenty steps: single batches jump.
        self.loss = if self.loss.is_nan() { loss } else { 0.95 * self.loss + 0.05 * loss };
        let seconds = self.started.elapsed().as_secs_f64();
        let rate = self.rate.unwrap_or(self.tokens as f64 / seconds.max(1e-9));
        self.bar.set_position(step);
        self.bar.set_message(format!("loss {:.3}  {:.0}k tokens/s", self.loss, rate / 1e3));
        if self.plain && (step == self.next_line || step == steps) {
            let left = seconds / (step - self.before) as f64 * (steps - step) as f64;
            let (loss, rate) = (self.loss, rate / 1e3);
            say(format_args!("  step {step}/{steps}  loss {loss:.3}  {rate:.1}k tokens/s  {left:.0}s to go"));
            self.next_line = (step + steps / 10).max(step + 1).min(steps);
        }
    }

    /// The bar goes: what follows says more.
    pub fn clear(self) {
        self.bar.finish_and_clear();
    }

    /// The end: how long it took, in seconds.
    pub fn finish(self) -> f64 {
        // The bar of a run that was stopped goes: `finish` would fill it.
        if self.bar.position() < self.bar.length().unwrap_or(0) {
            self.bar.finish_and_clear();
        } else {
            self.bar.finish();
        }
        self.started.elapsed().as_secs_f64()
    }
}

/// Progress through so many bytes or tokens: a bar on a terminal, silence elsewhere and where it is over in a moment.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Work that is counted in bytes.
    pub fn bytes(what: &'static str, bytes: u64) -> Self {
        Self::new(what, bytes, "  {msg} {bar:20} {binary_bytes}/{binary_total_bytes}  {eta} to go")
    }

    /// Work that is counted one by one.
    pub fn count(what: &'static str, count: u64) -> Self {
        Self::new(what, count, "  {msg} {bar:20} {pos}/{len}  {eta} to go")
    }

    fn new(what: &'static str, len: u64, template: &str) -> Self {
        let hidden = ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::hidden());
        let bar = if std::io::stderr().is_terminal() { ProgressBar::new(len) } else { hidden };
        let style = ProgressStyle::with_template(template).expect("the template is ours");
        bar.set_style(style.progress_chars("█▉▊▋▌▍▎▏ "));
        bar.set_message(what);
        Self { bar }
    }

    /// So much is done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
    }

    /// The bar has done its duty and goes.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_writes_moves_no_cursor_and_rings_no_bell() {
        assert_eq!(visible("a\u{7}b\n\t\u{1b}[2Jé"), "a\u{fffd}b\n\t\u{fffd}[2Jé");
    }

    #[test]
    fn a_long_word_is_named_by_its_beginning() {
        assert_eq!(shortened(&"é".repeat(40)), "é".repeat(40));
        assert_eq!(shortened(&"é".repeat(41)), format!("{}… (41 characters)", "é".repeat(40)));
    }
}
