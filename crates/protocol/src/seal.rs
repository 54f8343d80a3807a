//! Sealing of messages to the supervisor, for daemons that log what goes up.
//!
//! A key agreed by X25519 between the host's key pair and the supervisor's (announced in
//! [`crate::handshake::Ready`]), ChaCha20-Poly1305 with a counted nonce, the message's header as
//! associated data. A sealed body is `host public key (32) ‖ nonce (12) ‖ ciphertext`.
//!
//! It hides from a log; it does not authenticate the supervisor.

use chacha20poly1305::{
    AeadInPlace, ChaCha20Poly1305, KeyInit, Nonce,
    aead::{Aead, Payload},
};
use x25519_dalek::{PublicKey, StaticSecret};

use crate::wire::{BadBytes, MESSAGE_HEADER};

const PUBLIC: usize = 32;
const NONCE: usize = 12;
const TAG: usize = 16;

/// Bytes that sealing adds to a body.
pub const OVERHEAD: usize = PUBLIC + NONCE + TAG;

/// A key pair, from 32 random bytes that the caller brings.
#[derive(Clone)]
pub struct Keys {
    secret: StaticSecret,
    public: PublicKey,
}

impl Keys {
    /// The pair that these random bytes make.
    #[must_use]
    pub fn from_random(bytes: [u8; 32]) -> Self {
        let secret = StaticSecret::from(bytes);
        Self { public: PublicKey::from(&secret), secret }
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> [u8; 32] {
        self.public.to_bytes()
    }

    fn cipher(&self, peer: [u8; 32]) -> ChaCha20Poly1305 {
        let shared = self.secret.diffie_hellman(&PublicKey::from(peer));
        ChaCha20Poly1305::new(shared.as_bytes().into())
    }

    /// The host's side towards a supervisor with this public key.
    #[must_use]
    pub fn sealer(&self, supervisor: [u8; 32]) -> Sealer {
        Sealer { cipher: self.cipher(supervisor), public: self.public(), counter: 0 }
    }

    /// The cipher of the host with this public key.
    fn opener(&self, public: [u8; PUBLIC]) -> Opener {
        Opener { cipher: self.cipher(public), public }
    }
}

/// Opens the messages of one host; kept, since an agreement costs more than opening.
pub struct Opener {
    cipher: ChaCha20Poly1305,
    public: [u8; PUBLIC],
}

impl Opener {
    /// Opens a sealed body; `known` is the opener of the message before, if there was one.
    ///
    /// # Errors
    /// [`BadBytes::Seal`] when it was not sealed to these keys with this header.
    pub fn open(
        known: &mut Option<Self>,
        keys: &Keys,
        header: &[u8; MESSAGE_HEADER],
        body: &[u8],
    ) -> Result<Vec<u8>, BadBytes> {
        let (public, rest) = body.split_first_chunk::<PUBLIC>().ok_or(BadBytes::Seal)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(BadBytes::Seal)?;
        if known.as_ref().is_none_or(|opener| opener.public != *public) {
            *known = Some(keys.opener(*public));
        }
        let opener = known.as_ref().ok_or(BadBytes::Seal)?;
        opener
            .cipher
            .decrypt(Nonce::from_slice(nonce), Payload { msg: sealed, aad: header })
            .map_err(|_| BadBytes::Seal)
    }
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Opener([redacted])")
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys([redacted])")
    }
}

/// Seals the messages of one epoch.
pub struct Sealer {
    cipher: ChaCha20Poly1305,
    public: [u8; 32],
    // Never reset while the keys live: a repeated nonce would give both messages away.
    counter: u64,
}

impl Sealer {
    /// Seals `body` under `header`, whose length is that of the sealed body (`body.len() + OVERHEAD`).
    pub fn seal(&mut self, header: &[u8; MESSAGE_HEADER], body: &[u8]) -> Vec<u8> {
        self.counter += 1;
        let mut nonce = [0; NONCE];
        nonce[..8].copy_from_slice(&self.counter.to_le_bytes());
        let mut out = Vec::with_capacity(body.len() + OVERHEAD);
        out.extend_from_slice(&self.public);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(body);
        let start = PUBLIC + NONCE;
        // Fails only for bodies of 256 GiB.
        if let Ok(tag) = self.cipher.encrypt_in_place_detached(Nonce::from_slice(&nonce), header, &mut out[start..]) {
            out.extend_from_slice(&tag);
        }
        out
    }
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sealer([redacted])")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]
    use super::*;

    #[test]
    fn a_sealed_body_opens_for_its_key_and_header_only() {
        let (host, supervisor) = (Keys::from_random([7; 32]), Keys::from_random([9; 32]));
        let mut sealer = host.sealer(supervisor.public());
        let header = [3; MESSAGE_HEADER];
        let first = sealer.seal(&header, b"SECRET");
        let second = sealer.seal(&header, b"SECRET");
        let open = |keys: &Keys, header, body: &[u8]| Opener::open(&mut None, keys, header, body);
        assert_eq!(open(&supervisor, &header, &first).unwrap(), b"SECRET");
        assert_eq!(first.len(), 6 + OVERHEAD);
        assert_ne!(first, second, "a nonce was used twice");
        assert!(!first.windows(6).any(|window| window == b"SECRET"));
        assert_eq!(open(&supervisor, &[4; MESSAGE_HEADER], &first), Err(BadBytes::Seal));
        assert_eq!(open(&host, &header, &first), Err(BadBytes::Seal));
        assert_eq!(open(&supervisor, &header, &first[..40]), Err(BadBytes::Seal));
    }
}
