//! Ends an answer before its model does: at a spent budget, or at a thought that repeats itself.
//!
//! An answer that comes near to its reservation reserves more. A budget cuts the answer only if no more can be
//! reserved.

use super::allow::Room;
use super::budget_leases::Denied;
use super::came::Came;
use super::charges::{Most, RequestCharges};
use crate::observe::bus::Reporter;
use crate::observe::progress::Progress;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use thinkthrough_core::content::Block;
use thinkthrough_core::event::Event;
use thinkthrough_core::tokens::AnswerEstimate;
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::Scope;
use thinkthrough_limits::runaway::{Circle, Circles, Runaway};

/// More is reserved when no more than so many tokens, or a quarter, are left of the reservation.
const NEAR: u64 = 1_024;
/// The smallest additional reservation.
const STEP: u64 = 2_048;
/// The time that an answer without any reservation left waits for the reservations of others.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bounds of one answer.
pub(crate) struct Bounds {
    /// The place to reserve more for it; `None` without budgets.
    charges: Option<Arc<RequestCharges>>,
    most: Most,
    growth: Growth,
    runaway: Runaway,
    /// It is one JSON value, which cannot be cut any more when it is read.
    is_value: bool,
    thoughts: AnswerEstimate,
    /// The highest count that the provider itself reported so far.
    counted: Room,
    /// Up to 144 KiB, from the first thought on.
    circles: Circles,
    found: Option<Circle>,
}

type Asking = Pin<Box<dyn Future<Output = Result<(), (Denied, Scope)>> + Send>>;

/// The state of an additional reservation.
#[derive(Default)]
enum Growth {
    #[default]
    Idle,
    /// The ledger is asked; `is_last` if the answer may not go on before it answered.
    Asking { asking: Asking, is_last: bool },
    /// The early request for more was refused. There is one more before the answer is cut.
    Refused,
    /// There is no more of this budget.
    Over(Denied, Scope),
}

impl Bounds {
    pub(crate) fn new(charges: &Arc<RequestCharges>, runaway: Runaway, is_value: bool) -> Self {
        let (most, charges) = (charges.most(), Some(Arc::clone(charges)));
        Bounds { charges, most, runaway, is_value, ..Bounds::default() }
    }

    /// Reads an event of the answer.
    pub(crate) fn hear(&mut self, event: Event<'_>, reporter: &Reporter) {
        self.thoughts.hear(event);
        if let Event::Usage(usage) = event
            && usage.is_plausible()
        {
            self.count(usage);
        }
        if self.runaway == Runaway::Off || self.found.is_some() {
            return;
        }
        self.found = thought(event).and_then(|text| self.circles.push(text));
        if let Some(Circle { period, .. }) = self.found {
            let is_cut = self.runaway == Runaway::Cut && !self.is_value;
            reporter.tell(&Progress::Circles { period, is_cut });
        }
    }

    /// Takes the running count of a provider that counts while it answers.
    fn count(&mut self, usage: &Usage) {
        let Room { thought, all } = self.counted;
        self.counted = Room {
            thought: usage.reasoning_tokens.unwrap_or_default().max(thought),
            all: usage.output_tokens_with_reasoning().unwrap_or_default().max(all),
        };
    }

    /// Waits until more may come. `heard` is the bytes of text so far. Reserves more when they come near to the
    /// reservation. Only an answer that has used up all of it waits.
    pub(crate) fn poll_room(&mut self, heard: usize, cx: &mut Context<'_>) -> Poll<()> {
        let Some(charges) = self.charges.clone().filter(|_| !self.is_value) else {
            return Poll::Ready(());
        };
        loop {
            let so_far = self.so_far(heard);
            let is_beyond = self.most.is_below(so_far);
            match &mut self.growth {
                Growth::Asking { asking, is_last } => {
                    let Poll::Ready(asked) = asking.as_mut().poll(cx) else {
                        return if is_beyond { Poll::Pending } else { Poll::Ready(()) };
                    };
                    let is_last = *is_last;
                    self.most = charges.most();
                    self.growth = match asked {
                        Ok(()) => Growth::Idle,
                        Err((denied, scope)) if is_last => Growth::Over(denied, scope),
                        Err(_) => Growth::Refused,
                    };
                }
                Growth::Over(..) => return Poll::Ready(()),
                Growth::Refused if !is_beyond => return Poll::Ready(()),
                Growth::Idle if !self.most.is_near(so_far) => return Poll::Ready(()),
                Growth::Idle | Growth::Refused => {
                    let more = |tokens: u64| tokens.saturating_add(tokens.max(STEP));
                    let to = Room { thought: more(so_far.thought), all: more(so_far.all) };
                    let to = self.most.only(to, so_far);
                    let is_all = charges.grow_here(to);
                    self.most = charges.most();
                    if !is_all {
                        let patience = if is_beyond { PATIENCE } else { Duration::ZERO };
                        let asking = Box::pin(Arc::clone(&charges).grow(to, patience));
                        self.growth = Growth::Asking { asking, is_last: is_beyond };
                    } else {
                        self.growth = Growth::Idle;
                    }
                }
            }
        }
    }

    /// Tokens that came, by the estimate or by the provider's own running count.
    fn so_far(&self, heard: usize) -> Room {
        let Came { thought, all, .. } = self.came(heard, false);
        Room { thought: thought.max(self.counted.thought), all: all.max(self.counted.all) }
    }

    /// The reason why no more of the answer may come, whatever cap its model has: as one word, and as a sentence for
    /// its caller. `heard` is the bytes of text so far.
    pub(crate) fn reached(&self, heard: usize) -> Option<(&'static str, String)> {
        if self.is_value {
            return None;
        }
        if let Growth::Over(denied, scope) = self.growth {
            let of = scope.in_words();
            let so_far = self.so_far(heard);
            let left = match denied {
                Denied::Spent { .. } => "had left",
                Denied::Reserved { .. } => "had left beside what other requests have reserved",
                Denied::Unknown => "had left while the store is away",
                Denied::Unasked => "had left while the store answers late",
            };
            let Most { thought, all } = self.most;
            if let Some(most) = thought.filter(|most| so_far.thought > *most) {
                let why = format!(
                    "reasoning_budget_exceeded: the thought took more than the {most} tokens that the budget of {of} {left}"
                );
                return Some(("budget", why));
            }
            if let Some(most) = all.filter(|most| so_far.all > *most) {
                let why = format!(
                    "reasoning_budget_exceeded: the answer took more than the {most} tokens that the budget in dollars \
                     of {of} {left}"
                );
                return Some(("budget", why));
            }
        }
        let Circle { period, .. } = self.found.filter(|_| self.runaway == Runaway::Cut)?;
        let why = format!(
            "thought_repeats: the thought said the same {period} bytes again and again, and this gateway cuts such ones; \
             ask again, or in other words"
        );
        Some(("runaway", why))
    }

    /// The estimate of the received part, with `heard` bytes of text.
    pub(crate) fn came(&self, heard: usize, is_whole: bool) -> Came {
        Came::of(self.thoughts, heard, is_whole)
    }
}

impl Most {
    /// More came than was reserved.
    fn is_below(self, came: Room) -> bool {
        let is_below = |most: Option<u64>, came: u64| most.is_some_and(|most| came > most);
        is_below(self.thought, came.thought) || is_below(self.all, came.all)
    }

    /// Nearly as much came as was reserved.
    fn is_near(self, came: Room) -> bool {
        is_near(self.thought, came.thought) || is_near(self.all, came.all)
    }

    /// Limits `to` to the counts whose reservation is nearly used up.
    fn only(self, to: Room, came: Room) -> Room {
        let of = |most, to: u64, came| if is_near(most, came) { to } else { 0 };
        Room {
            thought: of(self.thought, to.thought, came.thought),
            all: of(self.all, to.all, came.all),
        }
    }
}

fn is_near(most: Option<u64>, came: u64) -> bool {
    most.is_some_and(|most| came > most - (most / 4).min(NEAR))
}

/// The bounds of an answer whose rest was moved out.
impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            charges: None,
            most: Most::default(),
            growth: Growth::Idle,
            runaway: Runaway::Off,
            is_value: true,
            thoughts: AnswerEstimate::default(),
            counted: Room::default(),
            circles: Circles::default(),
            found: None,
        }
    }
}

impl fmt::Debug for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds").field("most", &self.most).finish_non_exhaustive()
    }
}

/// The text of a thought in an event.
fn thought(event: Event<'_>) -> Option<&str> {
    match event {
        Event::ThinkingDelta { delta, .. } => Some(delta),
        Event::Whole { value: Block::Thinking(thinking), .. } => Some(&thinking.thought),
        Event::Choice { event, .. } => thought(*event),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget_leases::{About, BudgetLeases, Demand};
    use super::super::charges::Paid;
    use super::*;
    use crate::observe::bus::Bus;
    use crate::observe::log::Log;
    use crate::observe::spans::Traces;
    use std::future::poll_fn;
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_limits::{Ask, BudgetRules, Limit, OnExceed, Unit};
    use thinkthrough_store::LedgerKey;

    /// An answer that reserved `first` tokens of a budget of ten thousand.
    async fn answer(first: u64) -> (Arc<Reporter>, Arc<RequestCharges>, Bounds) {
        let bus = Arc::new(Bus::new(Log::off(), Traces::off(), None, None));
        let (reporter, budget_leases) =
            (Reporter::new(&bus, 0, "/v1/messages"), Arc::new(BudgetLeases::new(&bus)));
        let tenant = Tenant::named("alice").unwrap();
        let key = LedgerKey::new(&tenant, "key", "");
        let max = Limit::from_config(10_000);
        let rules = BudgetRules { max, on_exceed: OnExceed::Block, ..BudgetRules::DEFAULT };
        let (session, run) = (String::new(), String::new());
        let about = About { tenant, scope: Scope::Key, unit: Unit::Reasoning, session, run };
        let demand = Demand { first, ..Demand::of(Ask { wanted: first, least: 1 }) };
        let ledgers = budget_leases.ledgers(None);
        let reserved = budget_leases.reserve(&ledgers, key, (rules, about), demand).await.unwrap();
        let charges = RequestCharges::open(&Arc::default(), &budget_leases, &reporter, None);
        charges.keep(Paid { budgets: vec![reserved], bill: None, is_cut: true });
        let bounds = Bounds::new(&charges, Runaway::Off, false);
        (reporter, charges, bounds)
    }

    #[tokio::test]
    async fn req_budget_is_reserved_as_a_thought_goes_on_and_cuts_it_where_there_is_no_more() {
        for first in [0, 1_000] {
            let (reporter, charges, mut bounds) = answer(first).await;
            let piece = "word".repeat(100);
            let mut came = 0;
            while bounds.reached(0).is_none() {
                bounds.hear(Event::ThinkingDelta { block: 0, delta: &piece }, &reporter);
                came += 100;
                poll_fn(|cx| bounds.poll_room(0, cx)).await;
                assert!(came <= 10_100, "{came}");
            }
            // The whole reservation, and the piece that exceeded it.
            assert_eq!((came, charges.most().thought), (10_100, Some(10_000)), "{first}");
        }
    }

    #[tokio::test]
    async fn req_budget_hears_the_running_count_of_a_provider() {
        let (reporter, charges, mut bounds) = answer(1_000).await;
        let count = |bounds: &mut Bounds, tokens| {
            let usage = Usage { reasoning_tokens: Some(tokens), ..Usage::default() };
            bounds.hear(Event::Usage(&usage), &reporter);
        };
        count(&mut bounds, 5_000);
        poll_fn(|cx| bounds.poll_room(0, cx)).await;
        assert_eq!((bounds.reached(0), charges.most().thought), (None, Some(10_000)));
        // An implausible count is ignored.
        count(&mut bounds, u64::MAX);
        poll_fn(|cx| bounds.poll_room(0, cx)).await;
        assert_eq!(bounds.reached(0), None);
        count(&mut bounds, 10_001);
        poll_fn(|cx| bounds.poll_room(0, cx)).await;
        assert_eq!(bounds.reached(0).map(|(reason, _)| reason), Some("budget"));
    }
}
