//! A claim's word on whether it has something to send that nobody holds up.

use std::sync::atomic::{AtomicUsize, Ordering};

/// While there are claims with such work, the next one can wait. It is given when the claim is made, and taken back at its
/// end.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    n_at_work: &'a AtomicUsize,
    is_at_work: bool,
}

impl<'a> Work<'a> {
    pub(super) fn begin(n_at_work: &'a AtomicUsize) -> Self {
        n_at_work.fetch_add(1, Ordering::Relaxed);
        Self { n_at_work, is_at_work: true }
    }

    pub(crate) fn set(&mut self, is_at_work: bool) {
        match (self.is_at_work, is_at_work) {
            (true, false) => _ = self.n_at_work.fetch_sub(1, Ordering::Relaxed),
            (false, true) => _ = self.n_at_work.fetch_add(1, Ordering::Relaxed),
            _ => {}
        }
        self.is_at_work = is_at_work;
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        self.set(false);
    }
}
