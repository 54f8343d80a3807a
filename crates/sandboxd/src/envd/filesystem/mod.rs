//! The service `filesystem.Filesystem`: looking at, changing and watching files.
//!
//! Everything acts with the daemon's rights; the user of a call decides how relative paths are read
//! and whose new directories are.

mod create_watcher;
mod entry;
mod get_watcher_events;
mod list_dir;
mod make_dir;
pub mod metadata;
mod move_entry;
mod network_mount;
mod permissions;
mod remove;
mod remove_watcher;
mod stat;
mod target;
mod watch;
mod watch_dir;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    routing::post,
};

pub use watch::Watchers;

use super::{connect as rpc, sandbox::Sandbox};

/// The service's routes.
pub fn routes() -> Router<Arc<Sandbox>> {
    type Shared = State<Arc<Sandbox>>;
    Router::new()
        .route(
            "/filesystem.Filesystem/Stat",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, stat::stat).await),
        )
        .route(
            "/filesystem.Filesystem/ListDir",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, list_dir::list_dir).await),
        )
        .route(
            "/filesystem.Filesystem/MakeDir",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, make_dir::make_dir).await),
        )
        .route(
            "/filesystem.Filesystem/Move",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, move_entry::move_entry).await),
        )
        .route(
            "/filesystem.Filesystem/Remove",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, remove::remove).await),
        )
        .route(
            "/filesystem.Filesystem/WatchDir",
            post(async |State(s): Shared, r: Request| rpc::server_stream(s, r, watch_dir::watch_dir).await),
        )
        .route(
            "/filesystem.Filesystem/CreateWatcher",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, create_watcher::create_watcher).await),
        )
        .route(
            "/filesystem.Filesystem/GetWatcherEvents",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, get_watcher_events::get_watcher_events).await),
        )
        .route(
            "/filesystem.Filesystem/RemoveWatcher",
            post(async |State(s): Shared, r: Request| rpc::unary(s, r, remove_watcher::remove_watcher).await),
        )
}
