//! The reasoning tokens of one session.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::Limit;

/// A reservation that is not settled for this long belongs to a call that died, and lapses. No call thinks that long.
const LEASE: Duration = Duration::from_secs(3600);

/// A hundred percent in the unit of [`WarnAt`].
const WHOLE: u64 = 10_000;

/// The budget of a session; read fresh for each call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRules {
    /// All reasoning tokens of the session.
    pub max: Limit,
    /// The share of them that is worth a warning.
    pub warn_at: WarnAt,
    /// The fate of calls once the budget is spent.
    pub on_exceed: OnExceed,
}

/// A share of the budget, kept in hundredths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WarnAt(u64);

/// A share that is not greater than zero, or greater than the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WarnAtError {
    given: f64,
    most: u64,
}

/// The fate of a call when the budget is spent, from mild to strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnExceed {
    /// It goes on, and the event has said so.
    Warn,
    /// It goes on with the lowest effort.
    LowerEffort,
    /// It goes on without reasoning.
    DisableReasoning,
    /// It is refused.
    Block,
}

/// The reasoning tokens that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The most that it may spend.
    pub wanted: u64,
    /// Fewer than this are of no use to it.
    pub least: u64,
}

/// The spent amount of a session, and the reservations of its running calls.
#[derive(Clone, Debug, Default)]
pub struct SessionBudget {
    state: BudgetState,
    reserved: BTreeMap<u64, Reservation>,
    last_permit: u64,
    latest: Duration,
}

/// The part of a session's budget that outlives the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetState {
    /// Reasoning tokens spent.
    pub used: u64,
    /// The highest number of tokens whose passing was reported by a warning.
    pub warned_at: u64,
    /// The highest number of tokens whose passing was reported as exceeded.
    pub exceeded_at: u64,
}

/// A call that may start.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit holds its reservation until it is settled"]
pub struct BudgetPermit {
    number: u64,
    granted: Option<u64>,
    exceeded: Option<OnExceed>,
}

/// A call that may not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetRefusal {
    /// Reasoning tokens spent.
    pub used: u64,
    /// Reasoning tokens that running calls may still spend.
    pub reserved: u64,
    /// The budget.
    pub max: u64,
}

/// A threshold was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetEvent {
    /// Which one.
    pub kind: BudgetEventKind,
    /// Reasoning tokens spent.
    pub used: u64,
    /// The budget.
    pub max: u64,
    /// The spent share, in whole percent, rounded down.
    pub percent: u64,
}

/// The thresholds of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetEventKind {
    /// Everything is spent.
    Exceeded,
    /// The share that is worth a warning is spent.
    Warning,
}

#[derive(Clone, Copy, Debug)]
struct Reservation {
    tokens: u64,
    lapses_at: Duration,
}

impl BudgetRules {
    /// 500,000 tokens, a warning at 80 %, and no more than a warning when they are spent.
    pub const DEFAULT: Self = Self {
        max: Limit::from_config(500_000),
        warn_at: WarnAt(8_000),
        on_exceed: OnExceed::Warn,
    };

    /// No budget.
    pub const UNLIMITED: Self = Self { max: Limit::Unlimited, ..Self::DEFAULT };
}

impl SessionBudget {
    /// Starts a session without spending.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Goes on with a session that was stored; calls that ran when it was stored hold no reservation any more.
    #[must_use]
    pub fn resume(state: BudgetState) -> Self {
        Self { state, ..Self::default() }
    }

    /// The state to store for [`SessionBudget::resume`].
    #[must_use]
    pub fn state(&self) -> BudgetState {
        self.state
    }

    /// Reserves reasoning tokens for a call.
    ///
    /// If the rest of the budget is enough to be of use, the call is granted at most that rest, and its own cap must
    /// be lowered to it, except under [`OnExceed::Warn`]. Otherwise the rules' [`OnExceed`] applies to the call. A
    /// call that wants no reasoning tokens is never held back.
    ///
    /// # Errors
    ///
    /// Fails when the budget is spent or reserved, and the rules block.
    pub fn admit(
        &mut self,
        rules: &BudgetRules,
        ask: Ask,
        now: Duration,
    ) -> Result<BudgetPermit, BudgetRefusal> {
        self.latest = self.latest.max(now);
        self.reserved.retain(|_, reservation| reservation.lapses_at > self.latest);
        let Some(max) = rules.max.get().filter(|_| ask.wanted > 0) else {
            return Ok(self.permit(ask.wanted, None, None));
        };
        let reserved = self.reserved_tokens();
        let left = max.saturating_sub(self.state.used.saturating_add(reserved));
        if left >= ask.least.max(1) {
            let granted = match rules.on_exceed {
                OnExceed::Warn => ask.wanted,
                OnExceed::Block | OnExceed::DisableReasoning | OnExceed::LowerEffort => {
                    ask.wanted.min(left)
                }
            };
            let cap = (granted < ask.wanted).then_some(granted);
            return Ok(self.permit(granted, cap, None));
        }
        let exceeded = Some(rules.on_exceed);
        match rules.on_exceed {
            OnExceed::Warn | OnExceed::LowerEffort => Ok(self.permit(ask.wanted, None, exceeded)),
            OnExceed::DisableReasoning => Ok(self.permit(0, Some(0), exceeded)),
            OnExceed::Block => Err(BudgetRefusal { used: self.state.used, reserved, max }),
        }
    }

    /// Books the real cost of a call, and reports each threshold that the session reached for the first time.
    ///
    /// A call that failed settles with zero. A jump over both thresholds reports both, the warning first.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is used up by this")]
    pub fn settle(
        &mut self,
        rules: &BudgetRules,
        permit: BudgetPermit,
        used: u64,
    ) -> Vec<BudgetEvent> {
        self.reserved.remove(&permit.number);
        self.state.book(rules, used)
    }

    /// Reasoning tokens spent.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.state.used
    }

    /// Reasoning tokens that running calls may still spend.
    #[must_use]
    pub fn reserved_tokens(&self) -> u64 {
        self.reserved.values().fold(0, |sum, reservation| sum.saturating_add(reservation.tokens))
    }

    fn permit(
        &mut self,
        tokens: u64,
        granted: Option<u64>,
        exceeded: Option<OnExceed>,
    ) -> BudgetPermit {
        self.last_permit += 1;
        let number = self.last_permit;
        let lapses_at = self.latest.saturating_add(LEASE);
        self.reserved.insert(number, Reservation { tokens, lapses_at });
        BudgetPermit { number, granted, exceeded }
    }
}

impl BudgetState {
    /// Adds the spent tokens, and reports each threshold that was reached for the first time, the warning first.
    pub fn book(&mut self, rules: &BudgetRules, spent: u64) -> Vec<BudgetEvent> {
        self.used = self.used.saturating_add(spent);
        let Some(max) = rules.max.get() else { return Vec::new() };
        let (used, warn_at) = (self.used, rules.warn_at.tokens_of(max));
        let event = |kind| BudgetEvent { kind, used, max, percent: percent(used, max) };
        let mut events = Vec::new();
        if reached(used, warn_at, &mut self.warned_at) {
            events.push(event(BudgetEventKind::Warning));
        }
        if reached(used, max, &mut self.exceeded_at) {
            events.push(event(BudgetEventKind::Exceeded));
        }
        events
    }
}

/// A threshold counts as reached once; only a higher one, after the rules were raised, is news again.
fn reached(used: u64, threshold: u64, reported: &mut u64) -> bool {
    let news = used >= threshold && threshold > *reported;
    if news {
        *reported = threshold;
    }
    news
}

fn percent(used: u64, max: u64) -> u64 {
    let percent = u128::from(used) * 100 / u128::from(max.max(1));
    u64::try_from(percent).unwrap_or(u64::MAX)
}

impl BudgetPermit {
    /// The cap that the call must keep below its own, if the budget grants less than it asked for.
    #[must_use]
    pub fn cap(&self) -> Option<u64> {
        self.granted
    }

    /// The restriction of this call because the budget is spent.
    #[must_use]
    pub fn exceeded(&self) -> Option<OnExceed> {
        self.exceeded
    }
}

impl Ask {
    /// Up to this many tokens, where even one is of use.
    #[must_use]
    pub fn up_to(wanted: u64) -> Self {
        Self { wanted, least: 1 }
    }
}

impl WarnAt {
    /// A share between 0 and 1, as `warn_at` is written.
    ///
    /// # Errors
    /// Fails when the share is not above 0 and at most 1.
    pub fn from_fraction(fraction: f64) -> Result<Self, WarnAtError> {
        Self::of(fraction, 1)
    }

    /// A share between 0 and 100, as `warningThresholdPercent` is written.
    ///
    /// # Errors
    /// Fails when the share is not above 0 and at most 100.
    pub fn from_percent(percent: f64) -> Result<Self, WarnAtError> {
        Self::of(percent, 100)
    }

    fn of(given: f64, most: u32) -> Result<Self, WarnAtError> {
        let share = given / f64::from(most);
        if !(share > 0.0 && share <= 1.0) {
            return Err(WarnAtError { given, most: u64::from(most) });
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the share was checked to lie between 0 and 1"
        )]
        let hundredths = (share * 10_000.0).round() as u64;
        Ok(Self(hundredths.max(1)))
    }

    /// The share in whole percent, rounded down.
    #[must_use]
    pub fn percent(self) -> u8 {
        u8::try_from(self.0 * 100 / WHOLE).unwrap_or(100)
    }

    /// The number of tokens at which this share of `max` is spent.
    fn tokens_of(self, max: u64) -> u64 {
        let tokens = (u128::from(max) * u128::from(self.0)).div_ceil(u128::from(WHOLE));
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }
}

impl OnExceed {
    /// All of them, in the order of their strictness.
    pub const ALL: [Self; 4] = [Self::Warn, Self::LowerEffort, Self::DisableReasoning, Self::Block];

    /// The word in configurations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::DisableReasoning => "disable_reasoning",
            Self::LowerEffort => "lower_effort",
            Self::Warn => "warn",
        }
    }

    /// The action of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}

impl BudgetEventKind {
    /// The event's type on the stream `budget`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exceeded => "reasoning_budget_exceeded",
            Self::Warning => "reasoning_budget_warning",
        }
    }
}

impl fmt::Display for BudgetRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { used, reserved, max } = self;
        write!(f, "this session has spent {used} of its {max} reasoning tokens")?;
        if *reserved > 0 {
            write!(f, ", and running calls hold another {reserved}")?;
        }
        f.write_str("; start a new session or raise `reasoning_tokens_per_session`")
    }
}

impl fmt::Display for WarnAtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a warning threshold is above 0 and at most {}, and `{}` is not",
            self.most, self.given
        )
    }
}

impl std::error::Error for BudgetRefusal {}

impl std::error::Error for WarnAtError {}
