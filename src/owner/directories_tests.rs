#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use super::{EXIT_DENIED, EXIT_NOT_PRIVATE, EXIT_NOT_REAL, shell};

/// A directory of its own that goes with the test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("owner-directories-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn cwd(&self) -> PathBuf {
        self.0.join("a/b")
    }

    fn root(&self) -> PathBuf {
        self.cwd().join(".dsh-e2b")
    }

    /// Runs the line as the sandbox would, with the shell of this machine.
    fn run(&self) -> i32 {
        self.run_with(&std::env::var("PATH").unwrap())
    }

    fn run_with(&self, path: &str) -> i32 {
        let start = shell(self.cwd().to_str().unwrap(), self.root().to_str().unwrap());
        let status = Command::new(start.cmd).args(start.args).env("PATH", path).current_dir("/").status().unwrap();
        status.code().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn c61_both_directories_are_made_the_private_one_for_its_user_alone() {
    let place = Place::new("fresh");
    assert_eq!(place.run(), 0);
    assert_eq!((mode(&place.cwd()), mode(&place.root())), (0o755, 0o700));
    assert_eq!(place.run(), 0, "a second time changes nothing");
}

#[test]
fn c61_a_private_directory_that_others_could_read_is_closed() {
    let place = Place::new("open");
    fs::create_dir_all(place.root()).unwrap();
    fs::set_permissions(place.root(), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.run(), 0);
    assert_eq!(mode(&place.root()), 0o700);
}

#[test]
fn c61_a_planted_link_is_refused_and_what_it_leads_to_is_left_alone() {
    for target in ["elsewhere", "missing"] {
        let place = Place::new(target);
        let elsewhere = place.0.join(target);
        if target == "elsewhere" {
            fs::create_dir(&elsewhere).unwrap();
            fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(place.cwd()).unwrap();
        symlink(&elsewhere, place.root()).unwrap();
        assert_eq!(place.run(), EXIT_NOT_REAL, "{target}");
        assert!(target == "missing" || mode(&elsewhere) == 0o755);
    }
}

#[test]
fn c61_a_file_in_the_place_of_the_private_directory_is_refused() {
    let place = Place::new("file");
    fs::create_dir_all(place.cwd()).unwrap();
    fs::write(place.root(), "").unwrap();
    assert_eq!(place.run(), EXIT_NOT_REAL);
}

#[test]
fn a_place_that_the_user_may_not_make_is_left_to_the_daemon() {
    let place = Place::new("blocked");
    fs::write(place.0.join("a"), "").unwrap();
    assert_eq!(place.run(), EXIT_DENIED);
}

#[test]
fn c61_a_private_directory_that_is_another_s_for_a_moment_only_is_waited_for() {
    for (refusals, expected) in [(3, 0), (1000, EXIT_NOT_PRIVATE)] {
        let place = Place::new(&format!("moment-{refusals}"));
        let tools = place.0.join("tools");
        fs::create_dir(&tools).unwrap();
        let chmod = tools.join("chmod");
        let count = place.0.join("count");
        let script = format!(
            "#!/bin/sh\necho x >> {0}\n[ $(wc -l < {0}) -gt {refusals} ] || exit 1\nexec /bin/chmod \"$@\"\n",
            count.display()
        );
        fs::write(&chmod, script).unwrap();
        fs::set_permissions(&chmod, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
        assert_eq!(place.run_with(&path), expected);
        let tries = fs::read_to_string(&count).unwrap().lines().count();
        assert!((4..=22).contains(&tries), "{tries}");
    }
}
