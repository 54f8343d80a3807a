//! The account files of a box: `passwd` and `group`, made from the host's without touching them.

use super::Isolation;

/// The name that E2B gives its ordinary account.
pub const USER: &str = "user";
/// Where its home is.
pub const HOME: &str = "/home/user";
/// Above are people, below are the accounts of the system (as in Debian's and Fedora's `login.defs`).
const FIRST_PERSON: u32 = 1000;
/// Ids from here on belong to `nobody` and to dynamic ranges.
const PAST_PEOPLE: u32 = 60_000;

/// The id field (the third) of a line of `passwd` or `group`.
fn id(line: &str) -> Option<u32> {
    line.split(':').nth(2)?.parse().ok()
}

/// The lowest id for a person that no line of `text` (`passwd` or `group`) has.
///
/// An id of its own keeps the box' `user` apart from whoever has that id on the host.
pub fn free_id(text: &str) -> u32 {
    let taken: Vec<u32> = text.lines().filter_map(id).collect();
    (FIRST_PERSON..PAST_PEOPLE).find(|n| !taken.contains(n)).unwrap_or(FIRST_PERSON)
}

/// Lines of the host's system accounts, without people and without `names`.
fn system_lines<'a>(text: &'a str, names: &'a [&'a str], not_id: u32) -> impl Iterator<Item = &'a str> {
    text.lines().filter(move |line| {
        let name = line.split(':').next().unwrap_or_default();
        let id = id(line).unwrap_or(FIRST_PERSON);
        !names.contains(&name) && id != not_id && (id < FIRST_PERSON || id == 65_534)
    })
}

/// The `passwd` of a box, given the host's.
pub fn passwd(host: &str, isolation: Isolation, uid: u32, gid: u32, shell: &str) -> String {
    let mut text = String::new();
    // First, so that an id shared with a system account of the host resolves to this name.
    if isolation == Isolation::OneUser {
        text.push_str(&format!("{USER}:x:{uid}:{gid}::{HOME}:{shell}\n"));
    }
    text.push_str(&format!("root:x:0:0:root:/root:{shell}\n"));
    for line in system_lines(host, &[USER, "root"], uid) {
        text.push_str(line);
        text.push('\n');
    }
    if isolation != Isolation::OneUser {
        text.push_str(&format!("{USER}:x:{uid}:{gid}::{HOME}:{shell}\n"));
    }
    text
}

/// The `group` of a box, given the host's.
pub fn group(host: &str, isolation: Isolation, gid: u32) -> String {
    let mut text = String::new();
    if isolation == Isolation::OneUser {
        text.push_str(&format!("{USER}:x:{gid}:\n"));
    }
    text.push_str("root:x:0:\n");
    for line in system_lines(host, &[USER, "root"], gid) {
        // Members are people of the host.
        let fields: Vec<&str> = line.splitn(4, ':').collect();
        text.push_str(&fields[..fields.len().min(3)].join(":"));
        text.push_str(":\n");
    }
    if isolation != Isolation::OneUser {
        text.push_str(&format!("{USER}:x:{gid}:\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/zsh\ndaemon:x:1:1::/:/sbin/nologin\nalice:x:1000:1000::/home/alice:/bin/bash\nuser:x:1001:1001::/home/user:/bin/sh\nnobody:x:65534:65534::/:/sbin/nologin\n";

    #[test]
    fn the_user_gets_an_id_that_nobody_on_the_host_has() {
        assert_eq!(free_id(PASSWD), 1002);
        assert_eq!(free_id("root:x:0:0::/root:/bin/sh\n"), 1000);
    }

    #[test]
    fn people_of_the_host_are_not_in_the_box_and_system_accounts_are() {
        let text = passwd(PASSWD, Isolation::TwoUsers, 1002, 1002, "/bin/bash");
        assert_eq!(
            text,
            "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/:/sbin/nologin\nnobody:x:65534:65534::/:/sbin/nologin\nuser:x:1002:1002::/home/user:/bin/bash\n"
        );
    }

    #[test]
    fn with_one_user_an_id_shared_with_a_system_account_resolves_to_user() {
        let text = passwd(PASSWD, Isolation::OneUser, 1, 0, "/bin/bash");
        assert!(text.starts_with("user:x:1:0::/home/user:/bin/bash\n"), "{text}");
        assert!(!text.contains("daemon"), "{text}");
    }

    #[test]
    fn groups_lose_their_members() {
        let text = group("root:x:0:\nadm:x:4:alice,bob\nalice:x:1000:\n", Isolation::TwoUsers, 1002);
        assert_eq!(text, "root:x:0:\nadm:x:4:\nuser:x:1002:\n");
    }
}
