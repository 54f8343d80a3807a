//! Accounts of the sandbox: what its passwd and group databases say.

use std::path::PathBuf;

use nix::unistd::{Group, User, getgrouplist};

/// One account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: String,
    /// User id in the sandbox's user namespace.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// Home directory; need not exist.
    pub home: PathBuf,
}

impl Account {
    /// Looks an account up by its login name.
    ///
    /// # Errors
    /// A sentence that names the account, when there is none of this name or the database can't
    /// be read.
    pub fn by_name(name: &str) -> Result<Self, String> {
        let failed = |reason: String| format!("error looking up user '{name}': {reason}");
        match User::from_name(name) {
            Ok(Some(user)) => {
                Ok(Self { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw(), home: user.dir })
            }
            Ok(None) => Err(failed(format!("user: unknown user {name}"))),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// All groups of the account, the primary one first. A broken group database leaves the
    /// primary one.
    pub fn groups(&self) -> Vec<u32> {
        let supplementary = std::ffi::CString::new(self.name.as_str())
            .ok()
            .and_then(|name| getgrouplist(&name, self.gid.into()).ok())
            .unwrap_or_default();
        let mut groups = vec![self.gid];
        groups.extend(supplementary.into_iter().map(nix::unistd::Gid::as_raw).filter(|gid| *gid != self.gid));
        groups
    }
}

/// The login name of a user id, or the number when there is none.
pub fn user_name(uid: u32) -> String {
    match User::from_uid(uid.into()) {
        Ok(Some(user)) => user.name,
        Ok(None) | Err(_) => uid.to_string(),
    }
}

/// The name of a group id, or the number when there is none.
pub fn group_name(gid: u32) -> String {
    match Group::from_gid(gid.into()) {
        Ok(Some(group)) => group.name,
        Ok(None) | Err(_) => gid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_known_and_a_stranger_is_named_in_the_error() {
        let root = Account::by_name("root").expect("root");
        assert_eq!((root.uid, root.gid), (0, 0));
        assert_eq!(root.groups().first(), Some(&0));
        let error = Account::by_name("nobody-of-this-name").unwrap_err();
        assert!(error.contains("'nobody-of-this-name'"), "{error}");
    }

    #[test]
    fn ids_without_a_name_become_numbers() {
        assert_eq!(user_name(4_000_000_001), "4000000001");
        assert_eq!(group_name(4_000_000_001), "4000000001");
    }
}
