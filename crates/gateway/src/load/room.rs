//! The memory of one answer: granted before its request is read, and grown in order of age.
//!
//! A tally grants its bytes by rank:
//!
//! 1. Copies for traces leave two reserves free.
//! 2. New requests leave one reserve free, and find no room while an answer waits.
//! 3. Answers under way leave one reserve free. The oldest waiting answer is served first.
//! 4. The oldest waiting answer may use the reserve until it ends.
//!
//! The reserve takes one of the largest answers, so that one answer always comes to its end and frees its memory for
//! the next. When an answer has waited for ten seconds, the youngest waiting answer gives way.

use super::budget::{Reservation, Share};
use super::queue::{Age, Part};
use super::scope::Scope;
use crate::rejection::Rejection;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes of an answer besides its text: two connections with their buffers, their tasks and the current chunk.
pub(crate) const BASE: usize = 64 * 1024;
/// An answer reserves room in steps of this size, ahead of its text, so that the next chunk has its room already.
const STEP: usize = 16 * 1024;
/// The longest wait of an answer for room.
const PATIENCE: Duration = Duration::from_secs(10);
/// The greatest reserve: one of the largest answers that models give.
const RESERVE: usize = 16 * 1024 * 1024;

/// The part of a limit that only the oldest waiting answer may use.
pub(super) fn reserve(limit: usize) -> usize {
    (limit / 8).min(RESERVE)
}

/// An answer found no room in time, or gave way to an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// The expected text of an answer: about the 98th percentile of recent answers. Answers in progress count as soon as
/// they are longer.
#[derive(Debug)]
pub(super) struct Expected {
    text: AtomicUsize,
    /// An answer was longer than most are.
    are_long: AtomicBool,
}

impl Expected {
    /// The size of a long answer. A gateway with little memory begins with it, so that it refuses a request rather
    /// than cut an answer.
    const FIRST: usize = 512 * 1024;
    /// A gateway with much memory expects no more than this before it has seen a longer answer.
    const USUAL: usize = 128 * 1024;
    const MUCH: usize = 256 * 1024 * 1024;
    const LEAST: usize = 16 * 1024;
    const MOST: usize = 1024 * 1024;

    pub(super) fn new() -> Self {
        Expected { text: AtomicUsize::new(Self::FIRST), are_long: AtomicBool::new(false) }
    }

    /// Bytes to grant a new answer under this limit.
    pub(super) fn of(&self, limit: usize, all: usize) -> usize {
        let text = self.text.load(Ordering::Relaxed);
        let is_usual = all >= Self::MUCH && !self.are_long.load(Ordering::Relaxed);
        (BASE + if is_usual { text.min(Self::USUAL) } else { text }).min(limit / 8)
    }

    /// Learns from an answer with this much text. The steps up and down keep two of a hundred answers above the
    /// value.
    fn learn(&self, text: usize) {
        let order = Ordering::Relaxed;
        self.are_long.fetch_or(text > Self::USUAL, order);
        let next = |now: usize| {
            let next = if text > now { (now + now / 2).min(text) } else { now - now / 128 };
            Some(next.clamp(Self::LEAST, Self::MOST))
        };
        // The closure never refuses.
        let _ = self.text.fetch_update(order, order, next);
    }
}

pub(crate) struct AnswerRoom {
    held: Reservation,
    age: Age,
    /// The greatest size that the answer asked for.
    most: usize,
    /// The tally whose queue holds the answer.
    waits: Option<Scope>,
    until: Option<Pin<Box<Sleep>>>,
    /// The answer needed more than its first grant.
    has_outgrown: bool,
}

impl AnswerRoom {
    /// Grants the memory of a usual answer, before anything of its request is read.
    pub(super) fn admit(share: &Share, bytes: usize) -> Result<Self, Rejection> {
        let mut held = share.reserve();
        held.admit(bytes)?;
        Ok(Self::over(held))
    }

    /// The room of an answer before its first grant.
    pub(super) fn empty(share: &Share) -> Self {
        Self::over(share.reserve())
    }

    fn over(held: Reservation) -> Self {
        let age = held.share().next_age();
        AnswerRoom { held, age, most: 0, waits: None, until: None, has_outgrown: false }
    }

    /// Waits until the answer may hold so many bytes.
    pub(crate) fn poll_grow(
        &mut self,
        bytes: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), NoRoom>> {
        self.most = self.most.max(bytes);
        self.poll_regrow(bytes, cx)
    }

    /// Like [`AnswerRoom::poll_grow`], but these bytes do not count for the expected size of later answers.
    pub(crate) fn poll_regrow(
        &mut self,
        bytes: usize,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), NoRoom>> {
        if bytes <= self.held.bytes() {
            self.stop_waiting();
            return Poll::Ready(Ok(()));
        }
        if !std::mem::replace(&mut self.has_outgrown, true) {
            self.learn();
        }
        if self.grow(bytes, cx) {
            return Poll::Ready(Ok(()));
        }
        let Some(scope) = self.waits else { return Poll::Pending };
        let is_over = |room: &Self| {
            room.held.share().queue(scope).is_none_or(|queue| queue.gives_way(room.age))
        };
        loop {
            if is_over(self) {
                self.stop_waiting();
                return Poll::Ready(Err(NoRoom));
            }
            let now = Instant::now();
            let until = self.until.get_or_insert_with(|| Box::pin(sleep_until(now + PATIENCE)));
            if until.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            // The answer stays in the queue and checks again soon whether it has to give way itself.
            until.as_mut().reset(now + PATIENCE / 10);
            if let Some(queue) = self.held.share().queue(scope) {
                queue.give_way(now);
            }
        }
    }

    /// Reserves the bytes, or joins the queue of the tally that has no room.
    fn grow(&mut self, bytes: usize, cx: &mut Context<'_>) -> bool {
        let wanted = bytes.max(bytes.saturating_add(STEP) / STEP * STEP);
        let mut registered = None;
        loop {
            let Err(scope) = self.held.grow_for(self.age, wanted) else {
                self.stop_waiting();
                return true;
            };
            if registered == Some(scope) {
                return false;
            }
            if self.waits != Some(scope) {
                self.leave_queue();
                self.waits = Some(scope);
            }
            // Registered before the last try, so that no bytes become free unnoticed.
            registered = Some(scope);
            if let Some(queue) = self.held.share().queue(scope) {
                queue.wait(self.age, cx);
            }
        }
    }

    /// Ends the answer: frees the memory beyond these bytes, and learns from the answer's size.
    pub(crate) fn end(&mut self, bytes: usize) {
        self.stop_waiting();
        self.learn();
        self.held.shrink_to(bytes);
    }

    fn learn(&self) {
        self.held.share().expected().learn(self.most.saturating_sub(BASE));
    }

    pub(crate) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        self.held.shrink_to(bytes);
    }

    fn stop_waiting(&mut self) {
        self.until = None;
        self.leave_queue();
    }

    fn leave_queue(&mut self) {
        if let Some(scope) = self.waits.take()
            && let Some(queue) = self.held.share().queue(scope)
        {
            queue.leave(self.age);
        }
    }
}

impl Drop for AnswerRoom {
    fn drop(&mut self) {
        self.stop_waiting();
        self.held.shrink_to(0);
        for scope in Scope::ALL {
            self.held.share().queue(scope).into_iter().for_each(|queue| queue.end(self.age));
        }
    }
}

impl fmt::Debug for AnswerRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerRoom").field("held", &self.held.bytes()).finish_non_exhaustive()
    }
}

/// Bytes of a tally with this limit that an answer may fill.
pub(super) fn limit_of(part: Part, limit: usize) -> usize {
    match part {
        Part::Common => limit - reserve(limit),
        Part::All => limit,
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::{Budget, InFlight};
    use super::super::gauges::Gauges;
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::task::Waker;
    use tokio::time::{advance, timeout};

    const KIB: usize = 1024;
    const LIMIT: usize = 8 * 1024 * KIB;

    fn share(budget: &Arc<Budget>) -> Share {
        let limits = InFlight { all: LIMIT, per_key: usize::MAX, per_address: None };
        budget.caller(std::net::Ipv4Addr::LOCALHOST.into()).within(limits)
    }

    fn budget() -> Arc<Budget> {
        Arc::new(Budget::new(Gauges::default()))
    }

    fn poll(room: &mut AnswerRoom, bytes: usize) -> Poll<Result<(), NoRoom>> {
        room.poll_grow(bytes, &mut Context::from_waker(Waker::noop()))
    }

    fn got(room: &mut AnswerRoom, bytes: usize) -> bool {
        poll(room, bytes) == Poll::Ready(Ok(()))
    }

    #[tokio::test(start_paused = true)]
    async fn t_28_the_oldest_waiting_answer_has_the_reserve_and_others_wait() {
        let budget = budget();
        let share = share(&budget);
        let [mut old, mut young, mut third] = [(); 3].map(|()| AnswerRoom::empty(&share));
        assert!(got(&mut young, 6 * 1024 * KIB));
        assert!(got(&mut old, 1000 * KIB), "the common part is not full");
        assert!(poll(&mut third, 1025 * KIB).is_pending(), "more than the reserve");
        assert!(got(&mut old, 1900 * KIB), "the reserve is the oldest one's");
        assert!(poll(&mut young, 6 * 1024 * KIB + 100 * KIB).is_pending());
        assert_eq!(share.reserve().grow_to(1).unwrap_err().status, 503, "a new request comes last");
        assert_eq!(share.answer().unwrap_err().status, 503);
        assert!(!share.reserve().grow_copy(1), "and so does a copy");
        drop(old);
        assert!(poll(&mut third, 1025 * KIB).is_pending(), "an older one waits");
        assert!(got(&mut young, 6 * 1024 * KIB + 100 * KIB));
        drop(young);
        assert!(got(&mut third, 1025 * KIB));
        assert!(share.answer().is_ok() && share.reserve().grow_to(LIMIT / 2).is_ok());
        drop(third);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn t_28_copies_and_new_answers_leave_room_for_those_under_way() {
        let budget = budget();
        let share = share(&budget);
        let (mut copy, mut request) = (share.reserve(), share.reserve());
        assert!(copy.grow_copy(LIMIT - 2 * reserve(LIMIT)));
        assert!(!copy.grow_copy(LIMIT - 2 * reserve(LIMIT) + 1));
        let mut answers: Vec<_> = (0..).map_while(|_| share.answer().ok()).collect();
        assert!(budget.held() <= LIMIT - reserve(LIMIT), "{}", budget.held());
        let most = budget.held() + reserve(LIMIT);
        assert!(got(&mut answers[0], most - budget.held()), "one under way has the reserve");
        assert_eq!(request.grow_to(LIMIT).unwrap_err().status, 503);
    }

    #[tokio::test(start_paused = true)]
    async fn t_28_after_ten_seconds_the_youngest_gives_way_and_its_memory_is_the_oldest_ones() {
        let budget = budget();
        let share = share(&budget);
        let [mut old, mut middle, mut young] = [(); 3].map(|()| AnswerRoom::empty(&share));
        let [first, second] = [(); 2].map(|()| AnswerRoom::empty(&share));
        drop((first, second));
        for room in [&mut middle, &mut young] {
            assert!(got(room, 3500 * KIB));
        }
        assert!(got(&mut old, 1000 * KIB), "out of the reserve");
        for room in [&mut old, &mut middle, &mut young] {
            assert!(poll(room, 3600 * KIB).is_pending());
        }
        advance(PATIENCE + Duration::from_millis(1)).await;
        assert!(poll(&mut old, 3600 * KIB).is_pending());
        assert!(poll(&mut middle, 3600 * KIB).is_pending());
        assert_eq!(poll(&mut young, 3600 * KIB), Poll::Ready(Err(NoRoom)));
        drop(young);
        assert!(got(&mut old, 3600 * KIB));
    }

    #[tokio::test(start_paused = true)]
    async fn t_28_one_answer_that_never_fits_ends_after_ten_seconds() {
        let budget = budget();
        let mut alone = AnswerRoom::empty(&share(&budget));
        let began = Instant::now();
        assert_eq!(poll_fn(|cx| alone.poll_grow(LIMIT + 1, cx)).await, Err(NoRoom));
        assert!(began.elapsed() >= PATIENCE && began.elapsed() < 2 * PATIENCE);
    }

    /// Pseudo-random numbers, the same in each run.
    fn draw(state: &mut u64, most: usize) -> usize {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        usize::try_from(*state >> 33).unwrap() % most
    }

    /// Many answers grow at once, each at most as large as the reserve. The limit holds, every answer comes to its
    /// end, and the oldest one does so without a failure.
    #[tokio::test(start_paused = true)]
    async fn t_28_the_limit_holds_and_nobody_waits_for_ever_in_any_order() {
        for seed in 0..30 {
            let budget = budget();
            let share = share(&budget);
            let mut state = seed;
            let mut tasks = Vec::new();
            for _ in 0..60 {
                let size = draw(&mut state, reserve(LIMIT)) + 1;
                let mut room = AnswerRoom::empty(&share);
                let (budget, mut state) = (Arc::clone(&budget), state ^ 0x5555);
                tasks.push(tokio::spawn(async move {
                    let mut kept = 0;
                    while kept < size {
                        kept = (kept + draw(&mut state, 40 * KIB) + 1).min(size);
                        if poll_fn(|cx| room.poll_grow(kept, cx)).await.is_err() {
                            return false;
                        }
                        assert!(budget.held() <= LIMIT, "{}", budget.held());
                        match draw(&mut state, 3) {
                            0 => tokio::task::yield_now().await,
                            1 => tokio::time::sleep(Duration::from_millis(1)).await,
                            _ => {}
                        }
                    }
                    true
                }));
                draw(&mut state, 7);
            }
            let mut ends = Vec::new();
            for task in tasks {
                ends.push(timeout(Duration::from_secs(120), task).await.unwrap().unwrap());
            }
            assert!(ends[0], "the oldest one was crowded out");
            assert!(ends.iter().filter(|it| **it).count() > 55, "{ends:?}");
            assert_eq!(budget.held(), 0);
        }
    }

    #[test]
    fn t_28_the_expected_size_follows_the_answers() {
        let expected = Expected::new();
        let unlimited = usize::MAX;
        let of = |all| expected.of(unlimited, all);
        assert_eq!(of(128 * 1024 * KIB), BASE + Expected::FIRST);
        assert_eq!(of(256 * 1024 * KIB), BASE + Expected::USUAL);
        assert_eq!(expected.of(1024 * KIB, unlimited), 128 * KIB, "an eighth at most");
        (0..1000).for_each(|_| expected.learn(2 * KIB));
        assert_eq!(of(unlimited), BASE + Expected::LEAST);
        (0..10).for_each(|_| expected.learn(300 * KIB));
        assert_eq!(of(unlimited), BASE + 300 * KIB);
        (0..10).for_each(|_| expected.learn(300 * 1024 * KIB));
        assert_eq!(of(unlimited), BASE + Expected::MOST);
    }
}
