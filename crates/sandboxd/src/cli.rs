//! The command line.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use crate::{boxes, serve, solo};

/// What `sandboxd` is asked to do.
#[derive(Debug, Parser)]
#[command(name = "sandboxd", version, about = "An E2B-compatible sandbox service on loopback")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the service: control plane, edge and sandboxes.
    Serve(Serve),
    /// Run the daemon of one sandbox, here and now.
    Envd(Envd),
    /// The monitor of one sandbox (started by `serve`).
    #[command(hide = true)]
    Init {
        /// The sandbox' directory.
        dir: PathBuf,
    },
}

/// Options of `serve`.
#[derive(Args, Debug)]
struct Serve {
    /// Where the control plane listens; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback)]
    listen: SocketAddr,
    /// Where the edge listens: what E2B_SANDBOX_URL names.
    #[arg(long, default_value = "127.0.0.1:0", value_parser = loopback)]
    edge_listen: SocketAddr,
    /// Additionally serve one sandbox without a token on this port of localhost, for E2B_DEBUG=true (which wants 49983).
    #[arg(long, value_name = "PORT")]
    debug_port: Option<u16>,
    /// A key to accept (repeatable); without any, every key of the form e2b_HEX.
    #[arg(long, value_name = "KEY", value_parser = key)]
    api_key: Vec<String>,
    /// Where sandboxes keep their files; a new temporary directory by default. Wants extended attributes.
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
    /// The domain that clients are told to build host names from.
    #[arg(long)]
    domain: Option<String>,
    /// A further path of this machine that sandboxes see, read-only (repeatable).
    #[arg(long, value_name = "PATH")]
    show: Vec<PathBuf>,
    /// The longest life of a sandbox in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    max_timeout: u64,
    /// Run sandboxes as plain processes of yours that see the whole machine.
    #[arg(long)]
    no_isolation: bool,
    /// End when standard input ends.
    #[arg(long)]
    exit_with_parent: bool,
}

/// Options of `envd`.
#[derive(Args, Debug)]
struct Envd {
    /// An inherited listening socket, Unix or TCP.
    #[arg(long, value_name = "FD", required_unless_present = "port", conflicts_with = "port")]
    listen_fd: Option<i32>,
    /// A port of loopback to listen on.
    #[arg(long)]
    port: Option<u16>,
    /// The account of requests that name none.
    #[arg(long, value_name = "NAME")]
    default_user: Option<String>,
    /// A variable of every process (repeatable).
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    variable: Vec<(String, String)>,
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|error| format!("{error}"))?;
    // Whoever reaches the service can run programs on this machine.
    if address.ip().is_loopback() { Ok(address) } else { Err("only loopback addresses are allowed".to_owned()) }
}

fn key(text: &str) -> Result<String, String> {
    let good = crate::control::auth::well_formed(text);
    if good { Ok(text.to_owned()) } else { Err("expected e2b_ and lower-case hexadecimal digits".to_owned()) }
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Does what the process' arguments say.
pub fn main() -> ExitCode {
    let called = std::env::args_os().next().unwrap_or_default();
    if Path::new(&called).file_name().is_some_and(|name| name == "sudo") {
        return boxes::sudo::main();
    }
    match Cli::parse().command {
        // Forks, so no threads and no runtime.
        Command::Init { dir } => {
            name(c"sandboxd");
            boxes::monitor::main(&dir)
        }
        Command::Serve(options) => finish(run_service(options)),
        Command::Envd(options) => {
            name(c"envd");
            finish(run_daemon(options))
        }
    }
}

/// What `ps` shows: a program started by way of `/proc/self/exe` is called `exe` otherwise.
fn name(name: &std::ffi::CStr) {
    // Nothing depends on it.
    let _ = rustix::thread::set_name(name);
}

fn finish(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    // With standard error closed nobody could read it anyway.
    let _ = writeln!(std::io::stderr(), "sandboxd: {error}");
    ExitCode::FAILURE
}

fn log() {
    let filter = EnvFilter::try_from_env("SANDBOXD_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

fn run_service(options: Serve) -> Result<(), Box<dyn std::error::Error>> {
    log();
    let exit_with_parent = options.exit_with_parent;
    let settings = serve::Settings {
        keys: options.api_key,
        state: options.state_dir,
        domain: options.domain,
        longest: options.max_timeout,
        boxes: boxes::Options {
            show: options.show,
            isolate: !options.no_isolation,
            descriptors: boxes::descriptors::raise(),
        },
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listeners = serve::Listeners::bind(options.listen, options.edge_listen, options.debug_port).await?;
        let shutdown = serve::signals::shutdown(exit_with_parent)?;
        serve::run(listeners, settings, shutdown, |ready| writeln!(std::io::stdout(), "{ready}")).await?;
        Ok(())
    })
}

fn run_daemon(options: Envd) -> Result<(), Box<dyn std::error::Error>> {
    log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = match (options.listen_fd, options.port) {
            (Some(fd), _) => solo::inherited(fd)?,
            (None, port) => solo::bound((Ipv4Addr::LOCALHOST, port.unwrap_or(crate::edge::DAEMON_PORT)).into()).await?,
        };
        let mut daemon = crate::envd::Options::default();
        daemon.variables.extend(options.variable);
        if let Some(user) = options.default_user {
            daemon.default_user = user;
        }
        crate::envd::run(listener, daemon, std::future::pending()).await?;
        Ok(())
    })
}
