//! The environment of a command (contract C13): ambient minus secrets, then explicit changes.
//!
//! Names and values are byte strings: an ambient environment need not be UTF-8.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;

/// Words that mark a secret wherever they stand in an ambient name, in any case.
const SECRET_WORDS: [&[u8]; 4] = [b"KEY", b"PASSWORD", b"SECRET", b"TOKEN"];

/// Why a change of the environment was refused; nothing has been started then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable without a name.
    #[error("invalid environment: a name is empty")]
    EmptyName,
    /// `=` in a name would end the name early.
    #[error("invalid environment: the name {0:?} holds '='")]
    EqualsInName(String),
    /// NUL would end the entry early.
    #[error("invalid environment: the name {0:?} holds a NUL byte")]
    NulInName(String),
    /// NUL would end the entry early. Names the variable, never its value.
    #[error("invalid environment: the value of {0:?} holds a NUL byte")]
    NulInValue(String),
}

/// Which ambient variables a command never sees.
#[derive(Debug, Clone)]
pub struct ScrubRules {
    prefixes: Vec<Vec<u8>>,
}

impl ScrubRules {
    /// Rules with the given name prefixes, compared without regard to ASCII case.
    pub fn with_prefixes<P: Into<Vec<u8>>>(prefixes: impl IntoIterator<Item = P>) -> Self {
        Self { prefixes: prefixes.into_iter().map(Into::into).collect() }
    }

    /// Whether an ambient variable of this name is withheld.
    pub fn withholds(&self, name: &[u8]) -> bool {
        let has_prefix = |prefix: &Vec<u8>| {
            !prefix.is_empty() && name.len() >= prefix.len() && name[..prefix.len()].eq_ignore_ascii_case(prefix)
        };
        self.prefixes.iter().any(has_prefix)
            || SECRET_WORDS.iter().any(|word| name.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)))
    }
}

impl Default for ScrubRules {
    fn default() -> Self {
        Self::with_prefixes(["DSH_", "TOH_"])
    }
}

/// One explicit change of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Set it, whatever its name.
    Set(Vec<u8>),
    /// Remove it.
    Remove,
}

/// Variables by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Environment {
    /// The environment of this very process.
    pub fn of_this_process() -> Self {
        Self::from_pairs(std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())))
    }

    /// From pairs; of a repeated name the first counts, as for `getenv`.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (Vec<u8>, Vec<u8>)>) -> Self {
        let mut variables = BTreeMap::new();
        for (name, value) in pairs {
            variables.entry(name).or_insert(value);
        }
        Self { variables }
    }

    /// From `NAME=value` entries, as in `/proc/PID/environ` once split at NUL; entries without `=` are skipped.
    pub fn from_entries<'a>(entries: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::from_pairs(entries.into_iter().filter_map(|entry| {
            let equals = entry.iter().position(|&byte| byte == b'=')?;
            Some((entry[..equals].to_vec(), entry[equals + 1..].to_vec()))
        }))
    }

    /// Removes what `rules` withhold.
    pub fn scrub(&mut self, rules: &ScrubRules) {
        self.variables.retain(|name, _| !rules.withholds(name));
    }

    /// Sets one variable without validation; for values that come from the system itself.
    pub fn set(&mut self, name: &[u8], value: &[u8]) {
        self.variables.insert(name.to_vec(), value.to_vec());
    }

    /// The value of `name`.
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.variables.get(name).map(Vec::as_slice)
    }

    /// Applies explicit changes in order. On an error nothing has been changed.
    pub fn apply(&mut self, changes: &[(Vec<u8>, Change)]) -> Result<(), EnvironmentError> {
        changes.iter().try_for_each(validate)?;
        for (name, change) in changes {
            match change {
                Change::Set(value) => self.variables.insert(name.clone(), value.clone()),
                Change::Remove => self.variables.remove(name),
            };
        }
        Ok(())
    }

    /// All variables, by name in byte order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.variables.iter().map(|(name, value)| (name.as_slice(), value.as_slice()))
    }
}

fn validate((name, change): &(Vec<u8>, Change)) -> Result<(), EnvironmentError> {
    let shown = || String::from_utf8_lossy(name).into_owned();
    if name.is_empty() {
        return Err(EnvironmentError::EmptyName);
    }
    if name.contains(&b'=') {
        return Err(EnvironmentError::EqualsInName(shown()));
    }
    if name.contains(&0) {
        return Err(EnvironmentError::NulInName(shown()));
    }
    match change {
        Change::Set(value) if value.contains(&0) => Err(EnvironmentError::NulInValue(shown())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> (Vec<u8>, Change) {
        (name.into(), Change::Set(value.into()))
    }

    #[test]
    fn c13_withholds_prefixes_and_secret_words_in_any_case() {
        let rules = ScrubRules::default();
        for name in ["DSH_X", "dsh_x", "Toh_", "AWS_SECRET_ID", "mySqlPassword", "ApiKey", "MONKEY", "x_token_y"] {
            assert!(rules.withholds(name.as_bytes()), "{name}");
        }
        for name in ["PATH", "XDSH_", "DSH", "PASSPHRASE", "HOME", "KE_Y"] {
            assert!(!rules.withholds(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn c13_another_fork_names_its_own_prefixes() {
        let rules = ScrubRules::with_prefixes(["ACME_"]);
        assert!(rules.withholds(b"acme_x"));
        assert!(!rules.withholds(b"DSH_X"));
    }

    #[test]
    fn c13_explicit_entries_win_over_the_scrub_and_undefined_removes() {
        let mut environment = Environment::from_entries([&b"A=1"[..], b"B=2", b"SECRET_X=s", b"RAW=\xff\xfe"]);
        environment.scrub(&ScrubRules::default());
        environment.apply(&[set("DSH_TOKEN", "t"), (b"B".to_vec(), Change::Remove)]).unwrap();
        let all: Vec<_> = environment.iter().collect();
        assert_eq!(all, [(&b"A"[..], &b"1"[..]), (b"DSH_TOKEN", b"t"), (b"RAW", b"\xff\xfe")]);
    }

    #[test]
    fn c13_refuses_what_the_kernel_would_misread_and_changes_nothing_then() {
        let mut environment = Environment::default();
        let refused = [set("", "x"), set("A=B", "x"), set("A\0", "x"), set("A", "x\0y"), (vec![], Change::Remove)];
        for change in refused {
            let error = environment.apply(&[set("FINE", "1"), change]).unwrap_err();
            assert!(!error.to_string().contains("x\\0y"), "{error}");
            assert_eq!(environment, Environment::default());
        }
    }

    #[test]
    fn of_a_repeated_ambient_name_the_first_counts() {
        let environment = Environment::from_entries([&b"A=1"[..], b"A=2", b"broken"]);
        assert_eq!(environment.get(b"A"), Some(&b"1"[..]));
    }
}
