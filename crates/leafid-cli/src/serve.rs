//! `leafid serve`: runs the server until a signal.

mod activation;
mod greeting;
mod systemd;

use std::fmt::Display;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use leafid_server::{
    AccessFile, Config, CoreRuntime, FormatKeys, Hangups, Listeners, Loaded, PassedSockets,
    Reloader, ServeError, Server, Stores, Tls, Workers, shutdown_signal, with_causes,
};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;

use crate::failure::{Failure, Outcome};
use crate::flags::ServerFlags;
use crate::{log, output, source};

use greeting::greeting;
pub(crate) use greeting::reachable;
use systemd::Systemd;

/// Serve ids over HTTP, the Redis protocol and gRPC until SIGTERM or SIGINT.
///
/// By default it listens on 127.0.0.1, on port 8080 for HTTP, 6380 for the Redis protocol and 50051
/// for gRPC, and keeps its state in ./leafid-data.
/// Sockets that systemd passes by the names http, resp and grpc replace the addresses.
/// At the first signal it finishes the requests in flight and exits with code 0; at a second signal
/// it exits at once, with code 1. Logs go to standard error.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid serve
  leafid serve --store mysql://leaf@db:3306/leaf --store-password-file password
  leafid serve --http 0.0.0.0:8080 --access-file access.toml
  leafid serve --leaf-properties leaf.properties")]
pub(crate) struct Serve {
    #[command(flatten)]
    flags: ServerFlags,
}

impl Serve {
    pub(crate) fn run(self) -> Outcome {
        let sources = self.flags.sources();
        let served = sources
            .load()
            .map_err(Failure::from)
            .and_then(serve_until_stopped);
        served.map_err(|failure| failure.in_format(sources.log_format()))
    }
}

/// Serves with settings that are loaded.
fn serve_until_stopped(mut loaded: Loaded) -> Outcome {
    // Before the second thread starts, and before the settings say who can reach the server.
    let passed = activation::passed_sockets()?;
    for (key, address) in passed.addresses().map_err(source::not_started)? {
        loaded.listen_on_passed(key, address)?;
    }
    let noted = read_access(&mut loaded.config)?;
    loaded.notes.extend(noted);
    loaded.check_exposure()?;
    loaded.notes.extend(source::notes(&loaded.config)?);
    let keys = source::format_keys(&loaded.config)?;
    loaded
        .notes
        .extend(keys.iter().flat_map(|read| read.notes.clone()));
    let tls = Tls::read(&loaded.config, loaded.config.limits());
    let tls = tls.map_err(|error| {
        let next = "docs/tls.md describes how to create a certificate and its key";
        Failure::several(error.mistakes, next)
    })?;
    let tls = tls.map(Arc::new);
    loaded.notes.extend(tls.iter().flat_map(|tls| tls.notes()));
    // Must run before the second thread starts: see its documentation.
    leafid_server::warm_up();
    log::start(&loaded.config).map_err(source::not_started)?;
    for note in &loaded.notes {
        tracing::warn!("{note}");
    }
    allow_open_files();
    leave_open_files(&mut loaded.config);
    // For drivers and the first of the threads that serve connections; the server starts the
    // others.
    let runtime = CoreRuntime::new().map_err(source::not_started)?;
    let mut served = Ok(());
    runtime.block_on(pin!(async {
        served = serve(&loaded.config, keys, tls, passed).await;
    }));
    // Nothing that still runs needs waiting for: all requests have been answered.
    runtime.shutdown_background();
    served
}

async fn serve(
    config: &Config,
    keys: Option<FormatKeys>,
    tls: Option<Arc<Tls>>,
    passed: PassedSockets,
) -> Outcome {
    let stop = stop()?;
    let hangups = Hangups::listen().map_err(no_signals)?;
    survive_file_size_limit().map_err(no_signals)?;
    let listeners = Listeners::bind_others(config.addresses(), passed)
        .await
        .map_err(not_served)?
        .with_tls(tls.clone());
    let store = source::open(config).await?;
    let workers = Workers::open(config, listeners.http_addr()).await;
    let stores = Stores {
        segments: store,
        workers: workers.map_err(not_served)?,
        audit: Some(source::open_audit(config)?),
    };
    let server = Server::new(config, config.limits(), stores, listeners);
    if let Some(read) = keys {
        server.service().apply_format_keys(read.keys);
    }
    let (access_file, format_keys) = (config.access_file.clone(), config.format_keys.clone());
    let reloader = Reloader::new(server.service(), access_file, format_keys, tls);
    let systemd = Systemd::from_environment();
    tokio::spawn(reload_at(hangups, reloader, systemd.clone()));
    // The server runs even if its greeting cannot be written.
    let greeting = greeting(&server.addresses(), config);
    let listening = greeting.split_inclusive('\n').next().unwrap_or_default();
    let _ = output::print(match config.log {
        // The addresses are printed even then, because a port may have been picked here.
        LevelFilter::OFF => listening,
        _ => &greeting,
    });
    systemd.follow(&server, listening.trim_end().to_owned());
    let stop = async {
        stop.await;
        let stop_max = config.shutdown_delay + config.shutdown_grace;
        systemd.stopping(stop_max).await;
    };
    let served = server.run(stop).await.map_err(not_served);
    source::settle(config).await;
    served
}

/// Reloads the files at each SIGHUP.
async fn reload_at(mut hangups: Hangups, mut reloader: Reloader, systemd: Systemd) {
    while hangups.next().await.is_some() {
        systemd.around_reload(reloader.reload()).await;
    }
}

/// Turns a limit on the size of files into an error of the write that exceeds it. The signal that
/// comes with it would end the process.
fn survive_file_size_limit() -> io::Result<()> {
    signal(SignalKind::from_raw(Signal::XFSZ.as_raw())).map(drop)
}

/// Adds the access file to the settings; returns notes for the operator.
fn read_access(config: &mut Config) -> Outcome<Vec<String>> {
    let Some(path) = &config.access_file else {
        return Ok(Vec::new());
    };
    let file = AccessFile::read(path, &config.limits()).map_err(|error| {
        Failure::several(error.mistakes, "docs/access.md describes the access file")
    })?;
    config.tokens = file.tokens;
    config.quotas = file.quotas;
    Ok(file.notes)
}

/// Completes at the first signal; the second one exits the process.
fn stop() -> Outcome<impl Future<Output = ()>> {
    let first = shutdown_signal().map_err(no_signals)?;
    Ok(async move {
        first.await;
        if let Ok(second) = shutdown_signal() {
            tokio::spawn(async move {
                second.await;
                tracing::warn!("a second signal: ending at once");
                std::process::exit(1);
            });
        }
    })
}

fn no_signals(error: impl Display) -> Failure {
    let message = format!("cannot listen for signals: {error}");
    Failure::new(message, "raise the limit on open files (ulimit -n)")
}

/// Raises the limit on open files as far as the system allows. Each connection needs one, and the
/// usual soft limit of 1024 exists for programs that cannot handle more.
fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, all) {
        tracing::warn!(%error, "cannot raise the limit on open files, and so on connections");
    }
}

/// Lowers the connection limit if connections would leave no open files for the stores and the
/// journal.
fn leave_open_files(config: &mut Config) {
    let Some(open_files) = getrlimit(Resource::Nofile).current else {
        return;
    };
    let connections = config.connections_within(open_files);
    let wanted = config.connections_max;
    if connections >= wanted {
        return;
    }
    const TEXT: &str = "fewer connections than connections-max: the limit on open files is too low \
        for them (ulimit -Hn, LimitNOFILE in systemd)";
    // Few machines allow the default, and few need it.
    if wanted == Config::default().connections_max {
        tracing::info!(connections, open_files, wanted, "{TEXT}");
    } else {
        tracing::warn!(connections, open_files, wanted, "{TEXT}");
    }
    config.connections_max = connections;
}

fn not_served(error: ServeError) -> Failure {
    match error {
        ServeError::Bind {
            setting,
            address,
            source,
        } => not_bound(setting, address, &source),
        ServeError::WeakStore { report } => {
            let weaknesses = report.weaknesses.iter().map(ToString::to_string);
            let weaknesses: Vec<String> = weaknesses.collect();
            Failure::new(
                format!(
                    "the store {} can lose acknowledged reservations, and then ids come twice: {}",
                    report.location,
                    weaknesses.join("; ")
                ),
                "change the setting, or start anyway with --allow-weak-store",
            )
        }
        ServeError::Journal(error) => Failure::new(
            with_causes(&*error),
            "choose another directory with --data-dir DIR, or turn snowflake ids off with \
             --snowflake=false",
        ),
        ServeError::Registry { .. } => Failure::new(
            with_causes(&error),
            "name another registry with --registry URL, or turn snowflake ids off with \
             --snowflake=false",
        ),
        other => Failure::new(with_causes(&other), "the message says what to change"),
    }
}

fn not_bound(setting: &str, address: SocketAddr, error: &io::Error) -> Failure {
    let off = if setting == "http" {
        String::new()
    } else {
        format!(", or turn it off with --{setting} off")
    };
    let next = match error.kind() {
        ErrorKind::AddrInUse => format!(
            "another program listens there, maybe another leafid: stop it, or choose another \
             address with --{setting} ADDR{off}"
        ),
        ErrorKind::PermissionDenied => {
            format!("choose port 1024 or higher with --{setting} ADDR{off}")
        }
        _ => format!("choose an address of this machine with --{setting} ADDR{off}"),
    };
    Failure::new(format!("cannot listen on {address}: {error}"), next)
}
