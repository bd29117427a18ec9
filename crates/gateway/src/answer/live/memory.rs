//! The memory of an answer in progress: its needs, the thoughts that it spills, and the data that it gives up.

use super::LiveAnswer;
use crate::load::{BASE, NO_ROOM, NoRoom, READ};
use crate::observe::progress::Progress;
use crate::store::spilling::Spilling;
use std::task::{Context, Poll, ready};
use thinkthrough_core::exchange::Exchange;

impl LiveAnswer {
    /// Waits until the budget and the memory for more of the answer are granted or denied.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.bounds.poll_room(self.heard, cx));
        if self.is_crowded_out {
            return Poll::Ready(());
        }
        self.poll_spill(cx);
        let mut polled = self.poll_hold(self.needs(), cx);
        // An answer that needs memory only for its trace loses the trace. It does not wait, and does not end.
        let is_for_trace = self.keep.vault.is_none() && !self.is_forgotten;
        if polled != Poll::Ready(Ok(())) && is_for_trace && self.forget() {
            polled = self.poll_hold(self.needs(), cx);
        }
        if let Err(NoRoom) = ready!(polled) {
            self.is_crowded_out = !self.forget();
        }
        Poll::Ready(())
    }

    /// Moves finished thoughts into a file if the answer needs more memory than it was granted.
    fn poll_spill(&mut self, cx: &mut Context<'_>) {
        while let (Some(exchange), false) = (&mut self.exchange, self.is_value) {
            let Poll::Ready(moved) = self.spilling.poll_written(exchange, cx) else { return };
            self.kept = self.kept.saturating_sub(moved);
            let (needs, vault) = (self.needs(), self.keep.vault.as_ref());
            let (Some(room), Some(exchange)) = (&mut self.room, &mut self.exchange) else { return };
            let is_short = moved > 0 || needs > room.bytes();
            if moved > 0 {
                room.shrink_to(needs);
            }
            if !is_short || !self.spilling.write_one(exchange, vault) {
                return;
            }
        }
    }

    /// Waits until all thoughts are in memory again, at the end of the answer. An answer without room for them is
    /// crowded out. If no record is to be made of it, it does not wait for room.
    pub(crate) fn poll_gather(&mut self, is_kept: bool, cx: &mut Context<'_>) -> Poll<()> {
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(()) };
        if !self.spilling.is_used() || self.is_crowded_out || !(is_kept || self.is_audited) {
            return Poll::Ready(());
        }
        let moved = ready!(self.spilling.poll_written(exchange, cx));
        self.kept = self.kept.saturating_sub(moved);
        if !self.spilling.is_used() {
            return Poll::Ready(());
        }
        let returns = self.spilling.bytes();
        match self.poll_hold(self.needs() + returns + returns / 8, cx) {
            Poll::Pending if is_kept => return Poll::Pending,
            Poll::Pending => return Poll::Ready(()),
            Poll::Ready(Err(NoRoom)) => {
                self.is_crowded_out = !self.forget();
                return Poll::Ready(());
            }
            Poll::Ready(Ok(())) => {}
        }
        let Some(exchange) = &mut self.exchange else { return Poll::Ready(()) };
        self.kept += ready!(self.spilling.poll_read(exchange, cx));
        Poll::Ready(())
    }

    /// Some thoughts are still in the file at the end, so that the answer gets no record and no trace.
    pub(super) fn lose_spilled(&mut self, exchange: &mut Exchange, is_cut: bool) {
        if !self.spilling.is_used() {
            return;
        }
        self.spilling = Spilling::default();
        exchange.forget();
        self.keep.is_blind |= self.keep.vault.take().is_some() && !is_cut;
        if std::mem::take(&mut self.is_audited) {
            self.keep.reporter.loses_trace();
        }
    }

    /// The bytes that the answer needs so far.
    fn needs(&self) -> usize {
        // Texts grow in steps, and two readers hold the current event.
        let kept = if self.is_forgotten { 0 } else { self.kept + self.kept / 8 };
        let output = self.exchange.as_ref().map_or(0, |exchange| exchange.held_output());
        match self.is_value {
            // Its bytes, their translation, and their text.
            true => self.came.saturating_mul(READ + 1),
            false => BASE + kept + 2 * self.unfinished + output,
        }
    }

    /// Waits until the answer may hold so many bytes.
    pub(crate) fn poll_hold(
        &mut self,
        bytes: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), NoRoom>> {
        let Some(room) = &mut self.room else { return Poll::Ready(Ok(())) };
        match self.spilling.is_used() {
            true => room.poll_regrow(bytes, cx),
            false => room.poll_grow(bytes, cx),
        }
    }

    /// Gives up the text of the answer, unless a model may need its thoughts again.
    fn forget(&mut self) -> bool {
        let Some(exchange) = self.exchange.as_mut().filter(|it| it.may_be_forgotten()) else {
            return false;
        };
        exchange.forget();
        self.is_forgotten = true;
        self.spilling = Spilling::default();
        self.room.iter_mut().for_each(|room| room.shrink_to(BASE));
        if self.keep.vault.take().is_some() {
            self.keep.reporter.tell(&Progress::Unsaved);
        }
        if std::mem::take(&mut self.is_audited) {
            self.keep.reporter.loses_trace();
        }
        true
    }

    /// The reason why the answer may not go on: as one word, and for its caller.
    pub(crate) fn stopped(&self) -> Option<(&'static str, String)> {
        self.crowded_out().or_else(|| self.bounds.reached(self.heard))
    }

    /// The same, if the gateway is out of memory.
    pub(crate) fn crowded_out(&self) -> Option<(&'static str, String)> {
        let why = "overloaded: the gateway has no memory left to keep this answer; ask again, or let its operator raise `max_bytes_in_flight`";
        self.is_crowded_out.then(|| (NO_ROOM, why.to_owned()))
    }
}
