//! The limit of open descriptors: the service needs two for every open request, programs in boxes expect the usual.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises this process' soft limit to its hard one; gives the limit of before, for [`restore`].
pub fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    let mut wanted = limit;
    wanted.current = limit.maximum;
    // Refused is as good: then fewer requests can be open.
    let _ = setrlimit(Resource::Nofile, wanted);
    before
}

/// Sets the soft limit back, as programs that use `select` fail with higher ones (`None`: unlimited).
pub fn restore(before: Option<u64>) {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = before;
    let _ = setrlimit(Resource::Nofile, limit);
}
