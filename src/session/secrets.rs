//! Random bytes that only this session and its supervisor know.

use protocol::seal::Keys;
use zeroize::Zeroizing;

/// The token and the key of one session. Its inspection shows neither.
pub struct Secrets {
    token: Zeroizing<[u8; 32]>,
    key: Zeroizing<[u8; 32]>,
    /// Names the session's directory; no secret.
    pub name: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Secrets {
    /// New ones, from the operating system.
    ///
    /// # Errors
    /// When it has no random bytes to give.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut token = Zeroizing::new([0; 32]);
        let mut key = Zeroizing::new([0; 32]);
        let mut name = [0; 8];
        getrandom::fill(&mut token[..])?;
        getrandom::fill(&mut key[..])?;
        getrandom::fill(&mut name)?;
        Ok(Self { token, key, name: name.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    /// Those that a predecessor had, too: `token` proves that its commands may be found again. The key is new.
    ///
    /// # Errors
    /// As [`Secrets::new`].
    pub fn resumed(name: String, token: [u8; 32]) -> Result<Self, getrandom::Error> {
        Ok(Self { name, token: Zeroizing::new(token), ..Self::new()? })
    }

    /// What proves to the supervisor that this is its host.
    pub fn token(&self) -> [u8; 32] {
        *self.token
    }

    /// The key pair for sealed messages.
    pub fn keys(&self) -> Keys {
        Keys::from_random(*self.key)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test may panic")]
    use super::*;

    #[test]
    fn c63_no_two_sessions_share_secrets_and_none_shows_them() {
        let (one, other) = (Secrets::new().unwrap(), Secrets::new().unwrap());
        assert_ne!(one.token(), other.token());
        assert_ne!(one.name, other.name);
        let shown = format!("{one:?}");
        assert!(shown.contains(&one.name) && shown.len() < 60, "{shown}");
    }
}
