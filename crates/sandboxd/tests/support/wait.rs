//! Waiting for facts, with a deadline.

use std::time::{Duration, Instant};

/// How long a fact may take.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Looks until `fact` holds; panics with `name` when it does not in time.
pub async fn until(name: &str, mut fact: impl FnMut() -> bool) {
    let start = Instant::now();
    while !fact() {
        assert!(start.elapsed() < PATIENCE, "not within {PATIENCE:?}: {name}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Fails instead of hanging.
pub async fn within<T>(name: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("not within {PATIENCE:?}: {name}"))
}
