//! A service under test, as a child process, and clients that speak to it in plain HTTP.

#![allow(dead_code, reason = "every test file uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a failed step is a failed test")]

pub mod connect;
pub mod http;
pub mod processes;
pub mod wait;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

pub use self::connect::Running;
pub use self::http::{Answer, request};

/// A well-formed key.
pub const KEY: &str = "e2b_00ff";

/// A running service; ended when dropped.
pub struct Service {
    pub child: Child,
    /// `host:port` of the control plane.
    pub api: String,
    /// `host:port` of the edge.
    pub edge: String,
    /// The ready line.
    pub ready: Value,
}

/// Who runs the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    /// The account that runs the tests.
    Me,
    /// An account without privileges.
    Nobody,
}

impl As {
    /// The accounts that this run of the tests can try: without privileges there is only one.
    pub fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() { vec![Self::Me, Self::Nobody] } else { vec![Self::Me] }
    }
}

/// An account without privileges, whose number nobody else uses.
const NOBODY: u32 = 64_123;

impl Service {
    /// Starts a service with more arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_as(As::Me, arguments)
    }

    /// The same under an account.
    pub fn start_as(who: As, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandboxd"));
        if who == As::Nobody {
            use std::os::unix::process::CommandExt;
            command.uid(NOBODY).gid(NOBODY);
        }
        Self::from(command, arguments)
    }

    /// The same by way of another program.
    pub fn start_by(program: &[&str], arguments: &[&str]) -> Self {
        let mut command = Command::new(program[0]);
        command.args(&program[1..]).arg(env!("CARGO_BIN_EXE_sandboxd"));
        Self::from(command, arguments)
    }

    fn from(mut command: Command, arguments: &[&str]) -> Self {
        command.arg("serve").arg("--exit-with-parent").args(arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut words = String::new();
            child.stderr.as_mut().unwrap().read_to_string(&mut words).unwrap();
            panic!("{command:?} did not start: {:?}\n{words}", child.wait());
        }
        let ready: Value = serde_json::from_str(&line).unwrap();
        let address = |name: &str| ready[name].as_str().unwrap().trim_start_matches("http://").to_owned();
        Self { child, api: address("apiUrl"), edge: address("sandboxUrl"), ready }
    }

    /// A request to the control plane with a key.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let body = body.map(|value| value.to_string()).unwrap_or_default();
        request(&self.api, method, path, &[("x-api-key", KEY)], body).await
    }

    /// Creates a sandbox without a token; gives its id.
    pub async fn sandbox(&self) -> String {
        self.sandbox_with(json!({})).await["sandboxID"].as_str().unwrap().to_owned()
    }

    /// Creates a sandbox with more keys in the request; gives the answer.
    pub async fn sandbox_with(&self, more: Value) -> Value {
        let mut body = json!({"templateID": "base", "timeout": 60});
        body.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
        let answer = self.call("POST", "/sandboxes", Some(body)).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// Starts a shell command in a sandbox.
    pub async fn start_in(&self, sandbox: &str, user: &str, script: &str) -> Running {
        connect::start(&self.edge, sandbox, user, script).await
    }

    /// Runs a shell command in a sandbox; gives exit code and output, standard error included.
    pub async fn run_in(&self, sandbox: &str, user: &str, script: &str) -> (i64, String) {
        self.start_in(sandbox, user, script).await.finish().await
    }

    /// Ends the service in order; true when it said so by its exit code.
    pub fn stop(mut self) -> bool {
        drop(self.child.stdin.take());
        self.child.wait().unwrap().success()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Closes standard input, on which it ends and takes its sandboxes along.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
