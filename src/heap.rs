//! When the process gives back the memory that a load took.

use std::time::Duration;
use thinkthrough_gateway::Running;
use thinkthrough_heap::give_back;

/// How often it is looked. What a load held is free some seconds after it left, when the store has taken it.
const PACE: Duration = Duration::from_secs(5);
/// Less is not worth the walk through the heap.
const WORTH: usize = 8 * 1024 * 1024;
/// So often it is given back after a load: a store that is late frees the last of it.
const TIMES: u8 = 3;

/// Gives memory back whenever half of what answers held at most is free again. Never comes back.
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
            // It has no result, and a thread that broke has given nothing back.
            drop(tokio::task::spawn_blocking(give_back).await);
        }
    }
}
