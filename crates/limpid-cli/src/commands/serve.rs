//! `limpid serve`: an HTTP server for model folders.

use super::demo;
use super::signals::StopSignals;
use crate::args::{Demo, Language, LogFormat, Serve};
use crate::error::{Error, Result};
use crate::printer::{self, say};
use limpid_server::{
    Access, Address, Keys, Limits, ModelSource, Models, ServeError, Server, Settings,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing_subscriber::filter::LevelFilter;

/// Threads that tokenize requests beside the event loop.
const TOKENIZING_THREADS: usize = 4;

/// Models of `limpid demo --all`, under `limpid-demo`.
const DEMO_MODELS: [&str; 3] = ["fr-en", "story-gpt", "story-bert"];

/// Serves until SIGTERM or Ctrl-C.
pub fn run(args: Serve) -> Result<()> {
    let mut sources: Vec<ModelSource> = args.models.iter().map(|text| source(text)).collect();
    if args.demo {
        sources.extend(demo_models()?);
    }
    let settings = settings(&args)?;
    start_log(args.log);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(TOKENIZING_THREADS)
        .enable_all()
        .build()
        .map_err(ServeError::from)?;
    let served = runtime.block_on(serve(sources, settings, args.check));
    // What is still running after the drain timeout is given up.
    runtime.shutdown_background();
    served
}

async fn serve(sources: Vec<ModelSource>, settings: Settings, check: bool) -> Result<()> {
    let server = Server::bind(settings, move || Models::load(&sources)).await?;
    for model in server.models().iter() {
        printer::warnings(model.pipeline.warnings());
        say(format_args!("{}: {}, {}", model.name, model.task().name(), model.fingerprint));
    }
    if check {
        say("The models and settings are good.");
        return Ok(());
    }
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let _signals = StopSignals::watch(move |_| {
        let _ = stop.send(());
    })?;
    say(format_args!(
        "Serving on {address} (documentation: {address}/docs)",
        address = server.address()
    ));
    let stop = async {
        let _ = stopped.await;
    };
    Ok(server.run(stop).await?)
}

/// `NAME=FOLDER` or `FOLDER`. A folder whose own name has an equals sign is taken as it is.
fn source(text: &str) -> ModelSource {
    match text.split_once('=') {
        Some((name, folder)) if !name.is_empty() && !Path::new(text).exists() => {
            ModelSource { name: Some(name.into()), folder: folder.into() }
        }
        _ => ModelSource { name: None, folder: text.into() },
    }
}

fn settings(args: &Serve) -> Result<Settings> {
    let keys = match (&args.api_key_file, std::env::var("LIMPID_API_KEY")) {
        (Some(file), _) => Keys::load(file)?,
        (None, Ok(key)) if !args.no_auth && !key.trim().is_empty() => Keys::new(&[key.trim()]),
        _ => Keys::default(),
    };
    let mut hosts = args.allow_host.clone();
    if !hosts.is_empty() {
        hosts.extend(["localhost", "127.0.0.1", "::1"].map(String::from));
    }
    let address = match &args.unix {
        Some(path) => Address::Unix(path.clone()),
        None => Address::Tcp(args.host.clone(), args.port),
    };
    let defaults = Settings::default();
    Ok(Settings {
        address,
        access: Access { keys, hosts },
        open: args.no_auth,
        limits: Limits {
            queue_tokens: args.max_queue_tokens,
            memory: args.memory,
            running: usize::from(args.max_running),
            ..defaults.limits
        },
        prefix_cache: args.prefix_cache,
        body_limit: usize::try_from(args.max_body).unwrap_or(usize::MAX),
        connections: args.max_connections as usize,
        request_timeout: Duration::from_secs(args.timeout),
        drain_timeout: Duration::from_secs(args.drain_timeout),
        ..defaults
    })
}

/// The log goes to standard error: requests with their numbers, never their texts or keys.
fn start_log(format: LogFormat) {
    let level = if format == LogFormat::Quiet { LevelFilter::ERROR } else { LevelFilter::INFO };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        _ => log.with_target(false).init(),
    }
}

/// The demo's models, trained if they are not there.
fn demo_models() -> Result<Vec<ModelSource>> {
    let parent = PathBuf::from("limpid-demo");
    let folders: Vec<PathBuf> = DEMO_MODELS.iter().map(|name| parent.join(name)).collect();
    if !folders.iter().all(|folder| folder.join("config.json").exists()) {
        say("Training the demo's models first …");
        let (to, steps, heads, seed) = (Language::En, None, 4, 1);
        let only = Vec::new();
        demo::run(Demo { all: true, only, to, out: None, steps, heads, seed })?;
    }
    let missing = folders.iter().find(|folder| !folder.join("config.json").exists());
    match missing {
        Some(folder) => Err(Error::data(format!("{} is missing", folder.display()))),
        None => Ok(folders.into_iter().map(|folder| ModelSource { name: None, folder }).collect()),
    }
}
