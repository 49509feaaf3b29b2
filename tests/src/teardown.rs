//! Work at the end of a test, also of a failed one.

use std::time::Duration;

/// Does it and waits for it, ten seconds at most. A test's own runtime can't be waited on from within, hence the thread.
pub(crate) fn wait_for(work: impl Future<Output = ()> + Send + 'static) {
    let working = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let _ = tokio::time::timeout(Duration::from_secs(10), work).await;
        });
    });
    // What can't be tidied up fails no test.
    let _ = working.join();
}
