//! What all calls of one sandbox share.

use std::{
    collections::BTreeMap,
    sync::{PoisonError, RwLock},
};

use super::{filesystem::Watchers, metrics::CpuMeter, process::Registry};

/// What a request gets when it doesn't say.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// Login name.
    pub user: String,
    /// Directory for an empty path; `None` is the user's home.
    pub directory: Option<String>,
}

/// The state of one sandbox.
pub struct Sandbox {
    /// Running processes and those that just ended.
    pub processes: Registry,
    /// Directory watches, streamed and polled.
    pub watchers: Watchers,
    /// The last reading of the processors' time.
    pub cpu: CpuMeter,
    /// Variables that `/init` can't change.
    fixed: BTreeMap<String, String>,
    mutable: RwLock<Mutable>,
}

struct Mutable {
    defaults: Defaults,
    variables: BTreeMap<String, String>,
    token: Option<String>,
    /// The newest timestamp of an `/init`, in nanoseconds since 1970.
    initialized: Option<i64>,
}

/// One `/init`, decoded. `None` leaves a setting as it is, save for the token.
#[derive(Debug, Default)]
pub struct Settings {
    /// Replaces all variables that an earlier `/init` set.
    pub variables: Option<BTreeMap<String, String>>,
    /// `None` opens the sandbox to all.
    pub token: Option<String>,
    /// Login name.
    pub user: Option<String>,
    /// Directory for an empty path.
    pub directory: Option<String>,
    /// Orders requests: one with an older timestamp, in nanoseconds since 1970, changes nothing.
    pub timestamp: Option<i64>,
}

impl Sandbox {
    /// A sandbox without token.
    pub fn new(default_user: String, fixed: BTreeMap<String, String>) -> Self {
        Self {
            processes: Registry::default(),
            watchers: Watchers::default(),
            cpu: CpuMeter::default(),
            fixed,
            mutable: RwLock::new(Mutable {
                defaults: Defaults { user: default_user, directory: None },
                variables: BTreeMap::new(),
                token: None,
                initialized: None,
            }),
        }
    }

    /// What a request gets when it doesn't say.
    pub fn defaults(&self) -> Defaults {
        self.read(|state| state.defaults.clone())
    }

    /// The sandbox-wide variables: those of `/init` and the fixed ones, which win.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut all = self.read(|state| state.variables.clone());
        all.extend(self.fixed.clone());
        all
    }

    /// The access token; `None` while the sandbox is open to all.
    pub fn token(&self) -> Option<String> {
        self.read(|state| state.token.clone())
    }

    /// Applies an `/init`, or does nothing when a newer one came before.
    pub fn apply(&self, settings: Settings) {
        let mut state = self.mutable.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(timestamp) = settings.timestamp {
            if state.initialized.is_some_and(|newest| newest >= timestamp) {
                return;
            }
            state.initialized = Some(timestamp);
        }
        if let Some(variables) = settings.variables {
            state.variables = variables;
        }
        state.token = settings.token;
        if let Some(user) = settings.user.filter(|user| !user.is_empty()) {
            state.defaults.user = user;
        }
        if let Some(directory) = settings.directory.filter(|directory| !directory.is_empty()) {
            state.defaults.directory = Some(directory);
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Mutable) -> T) -> T {
        look(&self.mutable.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn fixed_variables_win_and_a_later_init_replaces_the_rest() {
        let sandbox = Sandbox::new("root".into(), map(&[("E2B_SANDBOX", "true")]));
        let first = map(&[("A", "1"), ("E2B_SANDBOX", "false")]);
        sandbox.apply(Settings { variables: Some(first), ..Settings::default() });
        assert_eq!(sandbox.variables(), map(&[("A", "1"), ("E2B_SANDBOX", "true")]));
        sandbox.apply(Settings { variables: Some(map(&[("B", "2")])), ..Settings::default() });
        assert_eq!(sandbox.variables(), map(&[("B", "2"), ("E2B_SANDBOX", "true")]));
    }

    #[test]
    fn an_init_older_than_the_last_changes_nothing() {
        let sandbox = Sandbox::new("root".into(), BTreeMap::new());
        let at = |timestamp, token: &str| Settings {
            timestamp: Some(timestamp),
            token: Some(token.into()),
            ..Settings::default()
        };
        sandbox.apply(at(2, "new"));
        sandbox.apply(at(1, "old"));
        assert_eq!(sandbox.token().as_deref(), Some("new"));
    }
}
