//! A process by identity rather than by number.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub use linux::PidFd;
#[cfg(target_os = "macos")]
pub use macos::PidFd;
#[cfg(target_os = "macos")]
pub(crate) use macos::queue;

#[cfg(test)]
mod tests {
    use rustix::process::Pid;

    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn a_process_is_alive_until_it_ended_and_a_zombie_is_not() {
        let child = Fixture::shell("sleep 60");
        let pidfd = PidFd::open(child.pid).unwrap();
        assert!(pidfd.is_alive());
        pidfd.send(libc::SIGKILL).unwrap();
        child.wait_until_ended();
        assert!(!pidfd.is_alive());
        #[cfg(target_os = "linux")]
        {
            assert!(!pidfd.is_reaped());
            crate::exit::reap(child.pid).unwrap();
            assert!(pidfd.is_reaped());
        }
    }

    #[test]
    fn a_process_that_has_ended_before_it_is_held_is_not_alive_and_one_that_was_reaped_is_nobody() {
        let child = Fixture::shell("exit 0");
        child.wait_until_ended();
        assert!(!PidFd::open(child.pid).unwrap().is_alive());
        crate::exit::reap(child.pid).unwrap();
        assert_eq!(PidFd::open(child.pid).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        let free = Pid::from_raw(i32::MAX).unwrap();
        assert_eq!(PidFd::open(free).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn c31_a_process_whose_main_thread_left_is_alive_though_its_state_says_zombie() {
        let script = "import ctypes, threading, time\n\
            threading.Thread(target=lambda: time.sleep(60)).start()\n\
            ctypes.CDLL(None).syscall(60 if __import__('platform').machine() == 'x86_64' else 93, 0)";
        let child = Fixture::run(&["/usr/bin/env", "python3", "-c", script]);
        let pidfd = PidFd::open(child.pid).unwrap();
        child.wait_for("the state letter Z", || crate::table::stat(child.pid).unwrap().state == b'Z');
        assert!(pidfd.is_alive());
        pidfd.send(libc::SIGKILL).unwrap();
        child.wait_until_ended();
    }
}
