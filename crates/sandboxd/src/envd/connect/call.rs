//! What a handler knows of a call besides its message.

use std::{sync::Arc, time::Duration};

use axum::http::{Extensions, HeaderMap};

use super::{Error, header};
use crate::envd::{account::Account, authentication::NamedUser, sandbox::Sandbox};

/// One call: whose it is, its limits, and the sandbox that it is about.
#[derive(Clone)]
pub struct Call {
    /// The state that all calls share.
    pub sandbox: Arc<Sandbox>,
    /// Between two keepalive frames of a stream.
    pub keepalive: Duration,
    /// From `Connect-Timeout-Ms`; `None` is unlimited.
    pub timeout: Option<Duration>,
    named: Option<Account>,
}

impl Call {
    /// Reads headers and what the layers before left.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed timeout or protocol version.
    pub(super) fn new(sandbox: Arc<Sandbox>, headers: &HeaderMap, extensions: &Extensions) -> Result<Self, Error> {
        header::check_version(headers)?;
        Ok(Self {
            sandbox,
            keepalive: header::keepalive_interval(headers),
            timeout: header::timeout(headers)?,
            named: extensions.get::<NamedUser>().map(|user| user.0.clone()),
        })
    }

    /// The account that the call acts for: the one that it names, else the sandbox's default.
    ///
    /// # Errors
    /// `unauthenticated` when there is no such account.
    pub fn user(&self) -> Result<Account, Error> {
        match &self.named {
            Some(account) => Ok(account.clone()),
            None => {
                let name = self.sandbox.defaults().user;
                Account::by_name(&name).map_err(|_| Error::unauthenticated(format!("invalid default user: '{name}'")))
            }
        }
    }
}
