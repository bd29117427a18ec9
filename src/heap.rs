//! Returns memory to the system after a load.

use std::time::Duration;
use thinkthrough_gateway::Running;
use thinkthrough_heap::give_back;

/// The interval between checks. The store needs some seconds to write the records of a load and to free them.
const PACE: Duration = Duration::from_secs(5);
/// A drop of fewer bytes is not worth a walk through the heap.
const WORTH: usize = 8 * 1024 * 1024;
/// The number of walks after a load. A slow store frees the last records late.
const TIMES: u8 = 3;

/// Walks through the heap whenever answers hold less than half of their peak. Never returns.
pub(crate) async fn watch(running: &Running) {
    let (mut most, mut left) = (0, 0);
    loop {
        tokio::time::sleep(PACE).await;
        let (held, peak) = running.bytes_in_flight();
        most = peak.max(most);
        if most - held >= WORTH && held <= most / 2 {
            (most, left) = (held, TIMES);
        }
        if left > 0 {
            left -= 1;
            // A walk has no result.
            drop(tokio::task::spawn_blocking(give_back).await);
        }
    }
}
