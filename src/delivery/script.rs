//! The shell line that waits for the binary, takes it in and becomes it. It needs a POSIX shell and the oldest of tools only.

use crate::envd::Start;

use super::binary::SupervisorBinary;

/// The machine is another one than the binary's; stderr ends with `machine: NAME`.
pub(super) const EXIT_MACHINE: i32 = 93;
/// The uploaded file did not reach its size in time, or the binary was removed before it could be started.
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
/// - A folder that stays closed to this user is another's. Whoever makes it gives it away a moment later, so it is waited for a little.
/// - Programs get the umask that the supervisor came with: the daemon's, not the line's.
/// - Programs get the environment that the daemon gave, which is not what a shell passes on: it adds variables of its own, and dash drops each
///   whose name is no identifier. So the binary is told of a file that holds what the kernel knows of this process, and removes it.
/// - The binary is tried before anything depends on it. No shell of the usual three cleans up behind an `exec` that failed (bash forgets its
///   traps, busybox runs the file as a script), and what would stay are its megabytes and that environment. Another harness that ends may
///   remove it just then, and a third one bring it again: so it is condemned only when it fails twice.
/// - What did not come within a second takes its time: then it is looked for less often, since each look costs processes.
/// - `sleep` may know whole seconds only, or be missing: then fewer rounds are waited.
const SCRIPT: &str = r#"
umask=$(umask)
umask 077
dir=$1 bin=$2 up=$3 size=$4 want=$5 left=$6
shift 6
if have=$(uname -m 2>/dev/null) && [ "$have" != "$want" ]; then
  echo "machine: $have" >&2
  exit 93
fi
(umask 022; mkdir -p -m 700 "$dir") || exit 95
chmod 700 "$dir" 2>/dev/null
tick=1 pause=0.01 closed=0 late=$((left - 100))
while [ ! -x "$bin" ]; do
  if [ -f "$up" ] && [ "$(wc -c <"$up")" -eq "$size" ] 2>/dev/null; then
    cp "$up" "$bin.$$" && chmod 700 "$bin.$$" && mv -f "$bin.$$" "$bin" && break
    rm -f "$bin.$$"
    [ -x "$bin" ] || exit 95
    break
  fi
  [ -x "$dir" ] || closed=$((closed + tick))
  if [ "$closed" -gt 200 ]; then
    echo "$dir: Permission denied" >&2
    exit 95
  fi
  left=$((left - tick))
  [ "$left" -gt 0 ] || exit 94
  [ "$tick" -gt 1 ] || [ "$left" -gt "$late" ] || tick=5 pause=0.05
  sleep "$pause" 2>/dev/null || { tick=100; sleep 1; }
done
rm -f "$up"
"$bin" version >/dev/null || {
  [ -e "$bin" ] || exit 94
  "$bin" version >/dev/null || { left=$?; rm -f "$bin"; exit "$left"; }
}
cat "/proc/$$/environ" >"$dir/environment.$$" || rm -f "$dir/environment.$$"
umask "$umask"
exec "$bin" "$@" "$dir/environment.$$"
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
