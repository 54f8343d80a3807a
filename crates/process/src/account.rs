//! Accounts of `/etc/passwd`, read by an own parser: a static binary has no name service switch.

use std::io;

/// One line of the passwd file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Login name.
    pub name: Vec<u8>,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Login home, absolute.
    pub home: Vec<u8>,
    /// Login shell; empty when the file names none.
    pub shell: Vec<u8>,
}

/// The account of `uid` in `/etc/passwd`, if the file has one.
pub fn by_uid(uid: u32) -> io::Result<Option<Account>> {
    Ok(parse(&std::fs::read("/etc/passwd")?).find(|account| account.uid == uid))
}

/// Accounts of a passwd file's text, in its order; lines that do not parse are skipped.
pub fn parse(text: &[u8]) -> impl Iterator<Item = Account> + '_ {
    text.split(|&byte| byte == b'\n').filter_map(parse_line)
}

fn parse_line(line: &[u8]) -> Option<Account> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
    let [name, _, uid, gid, _, home, shell] = fields[..] else { return None };
    if name.is_empty() || name[0] == b'#' {
        return None;
    }
    let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse().ok();
    Some(Account { name: name.into(), uid: number(uid)?, gid: number(gid)?, home: home.into(), shell: shell.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_accounts_and_skips_what_is_none() {
        let text = b"root:x:0:0:root:/root:/bin/bash\n# no: account\n\nbroken\nuser:x:1001:1001::/home/user:\n";
        let accounts: Vec<_> = parse(text).collect();
        assert_eq!(accounts.len(), 2);
        assert_eq!((accounts[0].uid, &accounts[0].home[..]), (0, &b"/root"[..]));
        assert_eq!((&accounts[1].name[..], accounts[1].uid, &accounts[1].shell[..]), (&b"user"[..], 1001, &b""[..]));
    }

    #[test]
    fn finds_the_account_of_root_here() {
        assert_eq!(by_uid(0).unwrap().unwrap().home, b"/root");
    }
}
