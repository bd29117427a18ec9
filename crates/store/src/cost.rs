//! The cost of a conversation, as far as prices are known.

use std::ops::AddAssign;
use thinkthrough_core::price::{DOLLAR, Price};
use thinkthrough_core::usage::Usage;

/// The cost of a conversation so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The sum of the costs that are known, in micro-dollars.
    pub micro: u64,
    /// At least one request has an unknown cost.
    pub is_partial: bool,
}

impl Cost {
    /// The cost of one answer.
    #[must_use]
    pub fn of(price: Option<Price>, usage: Option<&Usage>) -> Self {
        match price.zip(usage).and_then(|(price, usage)| price.of(usage)) {
            Some(micro) => Cost { micro, is_partial: false },
            // A free model costs nothing, also without counts.
            None => Cost { micro: 0, is_partial: !price.is_some_and(|price| price.is_free()) },
        }
    }

    /// The cost for people: `$0.42`, or `$0.42+` if a part is unknown. `None` if no cost is known or it is 0.
    #[must_use]
    pub fn shown(self) -> Option<String> {
        if self.micro == 0 {
            return None;
        }
        let more = if self.is_partial { "+" } else { "" };
        // Four digits below a cent, else two.
        let digits = if self.micro < DOLLAR / 100 { 4_u32 } else { 2 };
        let unit = DOLLAR / 10_u64.pow(digits);
        let units = self.micro.saturating_add(unit / 2) / unit;
        let (whole, part) = (units / 10_u64.pow(digits), units % 10_u64.pow(digits));
        Some(format!("${whole}.{part:0width$}{more}", width = digits as usize))
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.micro = self.micro.saturating_add(other.micro);
        self.is_partial = self.is_partial || other.is_partial;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::price::Rates;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
    }

    #[test]
    fn an_unknown_cost_is_not_shown_as_zero() {
        let rates = Rates { input: 2_000_000, output: 10_000_000, ..Rates::default() };
        let price = Price { rates, ..Price::default() };
        let mut cost = Cost::default();
        assert_eq!(cost.shown(), None);
        cost += Cost::of(None, Some(&usage(5, 5)));
        assert_eq!(cost.shown(), None);
        let mut cost = Cost::default();
        cost += Cost::of(Some(Price::FREE), Some(&usage(1_000, 10)));
        cost += Cost::of(Some(Price::FREE), None);
        assert_eq!(cost, Cost::default(), "a free model costs nothing");
        cost += Cost::of(Some(price), Some(&usage(1_000, 10)));
        assert_eq!(cost.shown().as_deref(), Some("$0.0021"));
        cost += Cost::of(Some(price), Some(&usage(200_000, 10)));
        assert_eq!(cost.shown().as_deref(), Some("$0.40"));
        cost += Cost::of(Some(price), None);
        assert_eq!(cost.shown().as_deref(), Some("$0.40+"));
    }
}
