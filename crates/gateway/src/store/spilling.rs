//! Finished thoughts of an answer in progress move from memory to a file when memory is short, and return at its end.

use crate::store::vault::{Spill, Vault};
use crate::store::weight::of_thinking;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::event::Vacancy;
use thinkthrough_core::exchange::Exchange;
use thinkthrough_core::restore::Kept;
use thinkthrough_store::Spilled;
use tokio::time::timeout;

/// A smaller thought is not worth a write.
const LEAST: usize = 16 * 1024;
/// How long an answer waits for a disk that does not respond.
const PATIENCE: Duration = Duration::from_secs(10);

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The thoughts of one answer that are in a file.
#[derive(Default)]
pub(crate) struct Spilling {
    file: Option<Spill>,
    /// No further thought is spilled: there is no file, or a write failed.
    is_off: bool,
    writing: Option<Writing>,
    reading: Option<Work<Option<Vec<Kept>>>>,
    places: Vec<(Place, Spilled)>,
    /// The size of these thoughts in memory.
    bytes: usize,
    /// At least one thought cannot be read any more.
    is_lost: bool,
}

/// A thought on its way into the file. If it cannot be written, the work returns it, unless the disk was too slow.
struct Writing {
    place: Place,
    work: Work<Result<Spilled, Option<Kept>>>,
}

/// The place of a thought in its answer, and its bytes in memory.
#[derive(Clone, Copy)]
struct Place {
    vacancy: Vacancy,
    bytes: usize,
}

impl Spilling {
    /// Whether thoughts of the answer are missing in memory.
    pub(crate) fn is_used(&self) -> bool {
        self.is_lost || self.writing.is_some() || !self.places.is_empty()
    }

    /// The bytes that return to memory at the end.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Begins to write a thought of the answer. Returns `false` if the answer has no large thought, or spilling is off.
    pub(crate) fn write_one(
        &mut self,
        exchange: &mut Exchange,
        vault: Option<&Arc<dyn Vault>>,
    ) -> bool {
        if self.is_off {
            return false;
        }
        if self.file.is_none() {
            self.file = vault.and_then(|vault| vault.spill());
        }
        let Some(file) = self.file.clone() else {
            self.is_off = true;
            return false;
        };
        let is_large = |thinking: &Thinking| of_thinking(thinking) >= LEAST;
        let Some((vacancy, thinking)) = exchange.take_thought(&is_large) else { return false };
        let place = Place { vacancy, bytes: of_thinking(&thinking) };
        let kept = Kept { blocks: vec![Block::Thinking(thinking)] };
        let work = Box::pin(async move {
            match timeout(PATIENCE, file.write(kept)).await {
                Ok(written) => written.map_err(Some),
                Err(_) => Err(None),
            }
        });
        self.writing = Some(Writing { place, work });
        true
    }

    /// Waits for the current write, and returns the bytes that have left memory.
    pub(crate) fn poll_written(
        &mut self,
        exchange: &mut Exchange,
        cx: &mut Context<'_>,
    ) -> Poll<usize> {
        let Some(Writing { place, work }) = &mut self.writing else { return Poll::Ready(0) };
        let (place, written) = (*place, ready!(work.as_mut().poll(cx)));
        self.writing = None;
        match written {
            Ok(spilled) => {
                self.places.push((place, spilled));
                self.bytes += place.bytes;
                return Poll::Ready(place.bytes);
            }
            Err(Some(kept)) => put_back(exchange, place, kept),
            Err(None) => self.is_lost = true,
        }
        self.is_off = true;
        Poll::Ready(0)
    }

    /// Waits until all thoughts are in memory again, and returns their size. A thought that cannot be read is lost.
    pub(crate) fn poll_read(
        &mut self,
        exchange: &mut Exchange,
        cx: &mut Context<'_>,
    ) -> Poll<usize> {
        let Some(file) = self.file.clone().filter(|_| !self.is_lost) else { return Poll::Ready(0) };
        let reading = self.reading.get_or_insert_with(|| {
            let all = self.places.iter().map(|(_, spilled)| *spilled).collect();
            Box::pin(async move { timeout(PATIENCE, file.read(all)).await.ok().flatten() })
        });
        let read = ready!(reading.as_mut().poll(cx));
        let places = std::mem::take(&mut self.places);
        let Some(read) = read else {
            *self = Spilling { is_lost: true, ..Spilling::default() };
            return Poll::Ready(0);
        };
        places.into_iter().zip(read).for_each(|((place, _), kept)| put_back(exchange, place, kept));
        Poll::Ready(std::mem::take(self).bytes)
    }
}

fn put_back(exchange: &mut Exchange, place: Place, kept: Kept) {
    for block in kept.blocks {
        if let Block::Thinking(thinking) = block {
            exchange.put_back(place.vacancy, thinking);
        }
    }
}
