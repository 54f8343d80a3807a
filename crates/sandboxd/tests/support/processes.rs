//! Processes of this machine.

/// Ids of processes whose command line holds `mark`, those of this test's own excepted.
pub fn with_mark(mark: &str) -> Vec<u32> {
    let own = std::process::id();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        *pid != own && String::from_utf8_lossy(&line).contains(mark)
    })
    .collect()
}

/// A word that no other process of this machine has in its command line.
pub fn mark(name: &str) -> String {
    format!("mark-{name}-{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "")
}
