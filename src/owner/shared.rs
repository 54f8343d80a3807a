//! The clients of sandboxes that this process owns: a provider's session in the same process goes on with the connections that
//! the owner opened, instead of paying for new ones.

use std::sync::{Mutex, PoisonError};

use crate::envd::{Envd, SandboxFacts};

static OWNED: Mutex<Vec<Envd>> = Mutex::new(Vec::new());

/// Lends a client, until the result is dropped.
pub(super) fn lend(envd: Envd) -> Lent {
    let sandbox_id = envd.facts().sandbox_id.clone();
    OWNED.lock().unwrap_or_else(PoisonError::into_inner).push(envd);
    Lent { sandbox_id }
}

/// A client that is lent.
#[derive(Debug)]
pub(super) struct Lent {
    sandbox_id: String,
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut owned = OWNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = owned.iter().position(|envd| envd.facts().sandbox_id == self.sandbox_id) {
            owned.swap_remove(at);
        }
    }
}

/// The owner's client of a sandbox, if it reaches the sandbox in the same way as `facts` do.
pub fn envd_of(facts: &SandboxFacts) -> Option<Envd> {
    let owned = OWNED.lock().unwrap_or_else(PoisonError::into_inner);
    owned.iter().find(|envd| is_the_same(envd.facts(), facts)).cloned()
}

fn is_the_same(ours: &SandboxFacts, theirs: &SandboxFacts) -> bool {
    let token = |facts: &SandboxFacts| facts.access_token.as_ref().map(|token| token.expose().to_owned());
    let traffic = |facts: &SandboxFacts| facts.traffic_token.as_ref().map(|token| token.expose().to_owned());
    ours.sandbox_id == theirs.sandbox_id
        && ours.envd_url.trim_end_matches('/') == theirs.envd_url.trim_end_matches('/')
        && ours.envd_version == theirs.envd_version
        && ours.headers == theirs.headers
        && ours.user == theirs.user
        && token(ours) == token(theirs)
        && traffic(ours) == traffic(theirs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;
    use crate::envd::{Secret, facts::test_facts};

    #[test]
    fn a_client_is_lent_to_who_reaches_the_sandbox_in_the_same_way_and_only_while_the_owner_lives() {
        let mut facts = test_facts("http://127.0.0.1:1".into());
        facts.sandbox_id = "ilent".into();
        let lent = lend(Envd::new(facts.clone()).unwrap());
        assert!(envd_of(&facts).is_some());
        let mut other = facts.clone();
        other.access_token = Some(Secret::new("another"));
        assert!(envd_of(&other).is_none());
        other = facts.clone();
        other.headers.clear();
        assert!(envd_of(&other).is_none());
        drop(lent);
        assert!(envd_of(&facts).is_none());
    }
}
