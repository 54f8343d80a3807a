//! The service `process.Process`: starting processes and talking to them.
//!
//! A process belongs to the sandbox, not to the call that started it. Its output goes to whoever
//! listens at the moment ([`fanout`]) and is discarded while nobody does; a listener that doesn't
//! read holds it up. Its end is told to all and kept for a while ([`registry`]).

mod arguments;
mod child;
mod close_stdin;
mod connect;
mod environment;
mod events;
mod exit;
mod fanout;
mod input;
mod list;
mod pump;
mod registry;
mod running;
mod send_input;
mod send_signal;
mod spawn;
mod start;
mod stream_input;
mod supervise;
mod terminal;
mod update;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    routing::post,
};

pub use registry::Registry;

use super::{connect as rpc, sandbox::Sandbox};

/// The service's routes.
pub fn routes() -> Router<Arc<Sandbox>> {
    type Shared = State<Arc<Sandbox>>;
    Router::new()
        .route(
            "/process.Process/Start",
            post(async |State(s): Shared, r: Request| rpc::server_stream(s, r, start::start).await),
        )
        .route(
            "/process.Process/Connect",
            post(async |State(s): Shared, r: Request| rpc::server_stream(s, r, connect::connect).await),
        )
        .route("/process.Process/List", post(async |State(s): Shared, r: Request| rpc::unary(s, r, list::list).await))
        .route(
            "/process.Process/Update",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, update::update).await),
        )
        .route(
            "/process.Process/SendInput",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, send_input::send_input).await),
        )
        .route(
            "/process.Process/StreamInput",
            post(async |State(s): Shared, r: Request| rpc::client_stream(s, r, stream_input::stream_input).await),
        )
        .route(
            "/process.Process/SendSignal",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, send_signal::send_signal).await),
        )
        .route(
            "/process.Process/CloseStdin",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, close_stdin::close_stdin).await),
        )
}
