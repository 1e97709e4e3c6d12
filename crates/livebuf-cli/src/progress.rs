//! Progress on a terminal, for work that takes more than a second.

use crate::failure::grouped;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long work may take before progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does work. If it takes more than a second, shows what it is and how long it takes.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    counting(what, None, |_| work())
}

/// The same for work that counts the bytes it has done. Shows how many, or their share where
/// the total is known.
pub(crate) fn counting<T>(
    what: &str,
    total: Option<u64>,
    work: impl FnOnce(&Arc<AtomicU64>) -> T,
) -> T {
    let bytes = Arc::default();
    let _shown = io::stderr().is_terminal().then(|| Shown::new(what.to_owned(), total, &bytes));
    work(&bytes)
}

/// Shows progress until it is dropped.
struct Shown {
    /// Wakes the thread when it goes.
    done: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Shown {
    fn new(what: String, total: Option<u64>, bytes: &Arc<AtomicU64>) -> Shown {
        let (done, wait) = mpsc::channel();
        let bytes = Arc::clone(bytes);
        let thread = std::thread::spawn(move || show(&what, total, &bytes, &wait));
        Shown { done: Some(done), thread: Some(thread) }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.done = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, it said so.
            let _ = thread.join();
        }
    }
}

fn show(what: &str, total: Option<u64>, bytes: &AtomicU64, wait: &Receiver<()>) {
    if wait.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
        return;
    }
    let bar = ProgressBar::new_spinner().with_elapsed(PATIENCE);
    bar.set_draw_target(ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    loop {
        bar.set_message(format!("{what}{}", share(bytes.load(Ordering::Relaxed), total)));
        bar.tick();
        if wait.recv_timeout(Duration::from_millis(100)) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    bar.finish_and_clear();
}

/// The progress by bytes done. The line disappears at the end, so it never shows 100 %.
fn share(bytes: u64, total: Option<u64>) -> String {
    match total {
        _ if bytes == 0 => String::new(),
        Some(total) => {
            let percent = u128::from(bytes) * 100 / u128::from(total.max(1));
            format!(", {} %", percent.min(99))
        }
        None => format!(", {} MB", grouped(bytes / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn the_share_done_is_told() {
        for (bytes, total, text) in [
            (0, Some(10), ""),
            (0, None, ""),
            (1, Some(3), ", 33 %"),
            (3, Some(3), ", 99 %"),
            // More than there are, as when bytes are counted twice.
            (9, Some(3), ", 99 %"),
            (1, Some(0), ", 99 %"),
            (u64::MAX / 2, Some(u64::MAX), ", 49 %"),
            (1_234_567_890, None, ", 1,234 MB"),
        ] {
            assert_eq!(share(bytes, total), text);
        }
    }
}
