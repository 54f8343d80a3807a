//! The shell line that waits for the binary, takes it in and becomes it. It needs a POSIX shell and the oldest of tools only.

use crate::envd::Start;

use super::binary::SupervisorBinary;

/// The machine is another one than the binary's; stderr ends with `machine: NAME`.
pub(super) const EXIT_MACHINE: i32 = 93;
/// The uploaded file did not reach its size in time.
pub(super) const EXIT_UPLOAD: i32 = 94;
/// The file could not be made executable under its name.
pub(super) const EXIT_PREPARE: i32 = 95;

/// Before the machine's name on stderr.
pub(super) const MACHINE_MARK: &str = "machine: ";

/// How long the shell waits for the file, in its ticks of 10 ms.
const PATIENCE: u32 = 3000;

/// - A copy is executed, not the upload: the daemon may still hold that open for writing (`ETXTBSY`).
/// - The copy gets its name at once and whole (`mv`), so that others who come at the same time find it complete or not at all.
/// - Another harness may bring the same binary meanwhile: then that one is taken.
/// - Directories above ours are everybody's: our owner's line may make them at the same time, and they shall come out the same.
/// - Programs get the umask that the supervisor came with: the daemon's, not the line's.
/// - Programs get the environment that the daemon gave: what a shell adds of its own goes again (what bash adds at the exec, the joiner drops), and
///   no variable of the line has a name that one of the sandbox might have, which would be exported with what the line puts into it.
/// - `sleep` may know whole seconds only, or be missing: then fewer rounds are waited.
const SCRIPT: &str = r#"
join_umask=$(umask)
umask 077
join_dir=$1 join_bin=$2 join_up=$3 join_size=$4 join_want=$5 join_left=$6
shift 6
if join_have=$(uname -m 2>/dev/null) && [ "$join_have" != "$join_want" ]; then
  echo "machine: $join_have" >&2
  exit 93
fi
(umask 022; mkdir -p -m 700 "$join_dir") || exit 95
chmod 700 "$join_dir" 2>/dev/null
join_tick=1
while [ ! -x "$join_bin" ]; do
  if [ -f "$join_up" ] && [ "$(wc -c <"$join_up")" -eq "$join_size" ] 2>/dev/null; then
    cp "$join_up" "$join_bin.$$" && chmod 700 "$join_bin.$$" && mv -f "$join_bin.$$" "$join_bin" && break
    rm -f "$join_bin.$$"
    [ -x "$join_bin" ] || exit 95
    break
  fi
  join_left=$((join_left - join_tick))
  [ "$join_left" -gt 0 ] || exit 94
  sleep 0.01 2>/dev/null || { join_tick=100; sleep 1; }
done
rm -f "$join_up"
umask "$join_umask"
unset PWD OLDPWD SHLVL
exec "$join_bin" "$@"
"#;

/// The request that runs the line for `binary`, to be kept as `path` in `root` when `upload` has arrived.
pub(super) fn start(root: &str, path: &str, upload: &str, binary: &SupervisorBinary, argv: &[String]) -> Start {
    with_patience(PATIENCE, root, path, upload, binary, argv)
}

fn with_patience(
    ticks: u32,
    root: &str,
    path: &str,
    upload: &str,
    binary: &SupervisorBinary,
    argv: &[String],
) -> Start {
    let (size, ticks) = (binary.size.to_string(), ticks.to_string());
    let fixed = ["-c", SCRIPT, "supervisor", root, path, upload, &size, binary.machine.name(), &ticks];
    let args = fixed.into_iter().map(str::to_owned).chain(argv.iter().cloned()).collect();
    Start { cmd: "/bin/sh".into(), args, cwd: Some("/".into()), ..Start::default() }
}

#[cfg(all(test, unix))]
#[path = "script_tests.rs"]
mod tests;
