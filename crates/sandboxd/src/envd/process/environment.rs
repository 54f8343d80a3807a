//! The environment of a started process.

use std::{
    collections::{BTreeMap, HashMap},
    env,
};

use crate::envd::account::Account;

/// The variables of a process; later sources win: the daemon's `PATH` and the account, the
/// sandbox-wide ones, those of the request. Nothing else of the daemon's own environment is passed
/// on.
pub fn environment(
    account: &Account,
    sandbox: BTreeMap<String, String>,
    request: &HashMap<String, String>,
) -> Vec<(String, String)> {
    let path = env::var("PATH").unwrap_or_default();
    merge(path, account, sandbox, request).into_iter().collect()
}

fn merge(
    path: String,
    account: &Account,
    sandbox: BTreeMap<String, String>,
    request: &HashMap<String, String>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([
        ("PATH".to_owned(), path),
        ("HOME".to_owned(), account.home.to_string_lossy().into_owned()),
        ("USER".to_owned(), account.name.clone()),
        ("LOGNAME".to_owned(), account.name.clone()),
    ]);
    all.extend(sandbox);
    all.extend(request.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_wins_over_the_sandbox_and_the_sandbox_over_the_account() {
        let account = Account { name: "user".into(), uid: 1, gid: 1, home: "/home/user".into() };
        let sandbox = BTreeMap::from([("A".into(), "sandbox".into()), ("USER".into(), "sandbox".into())]);
        let request = HashMap::from([("A".into(), "request".into()), ("HOME".into(), "/r".into())]);
        let merged = merge("/bin".into(), &account, sandbox, &request);
        let expected = [("A", "request"), ("HOME", "/r"), ("LOGNAME", "user"), ("PATH", "/bin"), ("USER", "sandbox")];
        assert!(merged.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected), "{merged:?}");
    }
}
