//! `limpid lab`: a page on this machine where every number of a model can be opened.

use super::signals::StopSignals;
use crate::args::Lab;
use crate::error::Result;
use crate::printer::{self, say};
use limpid_server::ServeError;
use limpid_server::lab::types::{GenerateRequest, PassRequest};
use limpid_server::lab::{Commands, LabServer, LabSettings, TrainSpec};
use std::path::Path;
use std::process::{Command, Stdio};

/// Threads that compute and read files beside the event loop.
const BLOCKING_THREADS: usize = 16;

/// Serves the page until Ctrl-C.
pub fn run(args: Lab) -> Result<()> {
    let Lab { sources, port, no_open, data, assets } = args;
    let commands = Box::new(Typed);
    let settings = LabSettings { port, assets, sources, data, commands };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
        .map_err(ServeError::from)?;
    let served = runtime.block_on(serve(settings, no_open));
    runtime.shutdown_background();
    served
}

async fn serve(settings: LabSettings, no_open: bool) -> Result<()> {
    let server = LabServer::bind(settings).await?;
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let _signals = StopSignals::watch(move |_| {
        let _ = stop.send(());
    })?;
    let address = server.address();
    // The address is the answer; the rest is for people.
    println!("{address}");
    let opened = !no_open && open(&address);
    say(match opened {
        true => "The lab is open in your browser. Ctrl-C ends it.",
        false => "Open this address in a browser on this machine. Ctrl-C ends it.",
    });
    server
        .run(async {
            let _ = stopped.await;
        })
        .await;
    Ok(())
}

/// Opens an address as the desktop does; whether there is one.
fn open(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ if std::env::var_os("DISPLAY").is_none()
            && std::env::var_os("WAYLAND_DISPLAY").is_none() =>
        {
            return false;
        }
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}

/// A word of a command, quoted where a shell would read it otherwise.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// What to type for what the page shows.
pub struct Typed;

impl Commands for Typed {
    fn inspect(&self, folder: &Path, request: &PassRequest) -> String {
        let model = quoted(&folder.display().to_string());
        let mut line =
            format!("{} inspect {model} {}", printer::how_to_call(), quoted(&request.text));
        if let Some(second) = &request.second {
            line += &format!(" --second {}", quoted(second));
        }
        match (&request.target, &request.target_ids) {
            (_, Some(ids)) => {
                let ids: Vec<String> = ids.iter().map(u32::to_string).collect();
                line += &format!(" --target-ids {}", ids.join(","));
            }
            (Some(text), None) => line += &format!(" --target {}", quoted(text)),
            (None, None) => {}
        }
        for edit in &request.edits {
            let json = serde_json::to_string(edit).expect("an edit is JSON");
            line += &format!(" --edit {}", quoted(&json));
        }
        line + " --json"
    }

    fn generate(&self, folder: &Path, request: &GenerateRequest) -> String {
        let model = quoted(&folder.display().to_string());
        let mut line = printer::how_to_call().to_string();
        line += &format!(" generate {model} --prompt {}", quoted(&request.text));
        let options = [
            ("temperature", request.temperature.map(|value| value.to_string())),
            ("top-k", request.top_k.map(|value| value.to_string())),
            ("top-p", request.top_p.map(|value| value.to_string())),
            ("seed", request.seed.map(|value| value.to_string())),
            ("repetition-penalty", request.repetition_penalty.map(|value| value.to_string())),
            ("max-new-tokens", request.max_new_tokens.map(|value| value.to_string())),
        ];
        for (name, value) in options {
            if let Some(value) = value {
                line += &format!(" --{name} {value}");
            }
        }
        line
    }

    fn resume(&self, run: &Path) -> String {
        let run = quoted(&run.display().to_string());
        format!("{} train {run} --resume", printer::how_to_call())
    }

    fn resume_run(&self, run: &Path) -> Command {
        let mut command = own();
        command.arg("train").arg(run).arg("--resume");
        command
    }

    fn train(&self, spec: &TrainSpec) -> Command {
        let mut command = own();
        command.arg("train").arg(&spec.task).arg("--out").arg(&spec.folder);
        for (kind, path) in &spec.data {
            command.arg(format!("--{kind}")).arg(path);
        }
        for setting in &spec.settings {
            command.arg("--set").arg(setting);
        }
        command
    }

    fn demo(&self, models: &[&str], parent: &Path) -> Command {
        let mut command = own();
        command.arg("demo").arg("--only").arg(models.join(",")).arg("--out").arg(parent);
        command
    }

    fn experiment(&self, name: &str, quick: bool, folder: &Path) -> Command {
        let mut command = own();
        command.arg("experiment").arg(name).arg("--out").arg(folder);
        if quick {
            command.arg("--quick");
        }
        command
    }
}

/// This program again.
fn own() -> Command {
    Command::new(std::env::current_exe().unwrap_or_else(|_| "limpid".into()))
}
