//! Training runs as processes of their own: one that fails takes nothing with it, and its run
//! folder is the one that a command would have made.

use super::problem::{Kind, LabProblem};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Lines of output that are kept.
const LINES: usize = 200;
/// Processes at once.
const AT_ONCE: usize = 2;

/// What a process is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The run with this id.
    Run(String),
    /// Models of the demo.
    Demo,
    /// The experiment of this name.
    Experiment(String),
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should, or stopped by a signal after it had saved its work.
    Done,
    /// With an error: its last lines.
    Failed(String),
}

type Log = Arc<Mutex<VecDeque<String>>>;

struct Process {
    purpose: Purpose,
    child: Child,
    log: Log,
    stopped: bool,
    end: Option<End>,
}

/// The processes that were started here, with those that have ended.
#[derive(Default)]
pub struct Processes(Mutex<Vec<Process>>);

impl Processes {
    fn all(&self) -> MutexGuard<'_, Vec<Process>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process, unless one for the same purpose runs.
    pub fn start(&self, purpose: Purpose, mut command: Command) -> Result<(), LabProblem> {
        let mut all = self.all();
        let running = || all.iter().filter(|process| process.end.is_none());
        if running().any(|process| process.purpose == purpose) {
            return Err(LabProblem::new(Kind::Busy, "it is running already"));
        }
        if running().count() >= AT_ONCE {
            return Err(LabProblem::new(Kind::Busy, "two trainings run already")
                .hint("stop one of them first"));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            LabProblem::new(Kind::Internal, format!("the training cannot be started: {error}"))
        })?;
        let log = Log::default();
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|out| Box::new(out) as Box<dyn Read + Send>),
            child.stderr.take().map(|out| Box::new(out) as Box<dyn Read + Send>),
        ];
        for output in outputs.into_iter().flatten() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || keep_lines(output, &log));
        }
        all.retain(|process| process.purpose != purpose);
        all.push(Process { purpose, child, log, stopped: false, end: None });
        Ok(())
    }

    /// Whether it runs.
    pub fn is_running(&self, purpose: &Purpose) -> bool {
        self.all().iter().any(|process| process.purpose == *purpose && process.end.is_none())
    }

    /// How it ended, if it was started here and has.
    pub fn end(&self, purpose: &Purpose) -> Option<End> {
        self.all().iter().find(|process| process.purpose == *purpose)?.end.clone()
    }

    /// The last lines that it printed.
    pub fn log(&self, purpose: &Purpose) -> String {
        let all = self.all();
        let found = all.iter().find(|process| process.purpose == *purpose);
        found.map(|process| lines(&process.log, LINES)).unwrap_or_default()
    }

    /// Those that have ended since the last call.
    pub fn ended(&self) -> Vec<Purpose> {
        let mut found = Vec::new();
        for process in self.all().iter_mut().filter(|process| process.end.is_none()) {
            let Ok(Some(status)) = process.child.try_wait() else { continue };
            let done = status.success() || process.stopped;
            process.end = Some(match done {
                true => End::Done,
                false => End::Failed(lines(&process.log, 4)),
            });
            found.push(process.purpose.clone());
        }
        found
    }

    /// Asks a process to save its work and end, as Ctrl-C does.
    pub fn stop(&self, purpose: &Purpose) -> Result<(), LabProblem> {
        let mut all = self.all();
        let found = all
            .iter_mut()
            .find(|process| process.purpose == *purpose && process.end.is_none())
            .ok_or_else(|| LabProblem::new(Kind::NotFound, "it does not run here"))?;
        found.stopped = true;
        interrupt(&found.child)
    }

    /// The same for all, when the lab ends.
    pub fn stop_all(&self) {
        for process in self.all().iter_mut().filter(|process| process.end.is_none()) {
            process.stopped = true;
            let _ = interrupt(&process.child);
        }
    }
}

fn interrupt(child: &Child) -> Result<(), LabProblem> {
    // The shell's own: nothing else need be installed.
    let sent =
        Command::new("sh").args(["-c", "kill -TERM \"$0\"", &child.id().to_string()]).status();
    match sent {
        Ok(status) if status.success() => Ok(()),
        _ => Err(LabProblem::new(Kind::Internal, "the process cannot be stopped")),
    }
}

fn keep_lines(output: impl Read, log: &Log) {
    for line in BufReader::new(output).split(b'\n') {
        let Ok(line) = line else { return };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.push_back(String::from_utf8_lossy(&line).trim_end().to_string());
        if log.len() > LINES {
            log.pop_front();
        }
    }
}

fn lines(log: &Log, count: usize) -> String {
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    let from = log.len().saturating_sub(count);
    log.iter().skip(from).cloned().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn wait(processes: &Processes, purpose: &Purpose) -> End {
        let begun = Instant::now();
        loop {
            processes.ended();
            if let Some(end) = processes.end(purpose) {
                return end;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn a_process_that_fails_says_why_and_one_that_is_stopped_has_not_failed() {
        let (processes, bad) = (Processes::default(), Purpose::Run("bad".into()));
        processes.start(bad.clone(), shell("echo one; echo two >&2; exit 3")).unwrap();
        let End::Failed(lines) = wait(&processes, &bad) else { panic!("it failed") };
        assert!(lines.contains("two"), "{lines}");

        let long = Purpose::Demo;
        processes.start(long.clone(), shell("exec sleep 60")).unwrap();
        let again = processes.start(long.clone(), shell("true")).unwrap_err();
        assert_eq!(again.kind, Kind::Busy);
        processes.stop(&long).unwrap();
        assert_eq!(wait(&processes, &long), End::Done);
        assert!(processes.stop(&long).is_err());
    }
}
