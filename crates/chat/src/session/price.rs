//! What a session cost, where prices are known.

use thinkthrough_core::price::{DOLLAR, Price};
use thinkthrough_core::usage::Usage;

/// What a session cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Micro-dollars.
    known: u64,
    /// Something was asked of which nobody knows what it cost.
    is_partial: bool,
}

impl Cost {
    pub(super) fn add(&mut self, price: Option<Price>, usage: Option<&Usage>) {
        match price.zip(usage).and_then(|(price, usage)| price.of(usage)) {
            Some(cost) => self.known = self.known.saturating_add(cost),
            // What is free is free, whatever was counted.
            None => self.is_partial |= !price.is_some_and(|price| price.is_free()),
        }
    }

    /// `$0.42`, or `$0.42+` where that is not all; nothing where nothing is known, and where nothing was paid.
    pub(super) fn shown(self) -> Option<String> {
        if self.known == 0 {
            return None;
        }
        let more = if self.is_partial { "+" } else { "" };
        // Four digits of what is less than a cent, else two.
        let digits = if self.known < DOLLAR / 100 { 4_u32 } else { 2 };
        let unit = DOLLAR / 10_u64.pow(digits);
        let units = self.known.saturating_add(unit / 2) / unit;
        let (whole, part) = (units / 10_u64.pow(digits), units % 10_u64.pow(digits));
        Some(format!("${whole}.{part:0width$}{more}", width = digits as usize))
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
    fn what_is_not_known_is_not_shown_and_never_nothing() {
        let rates = Rates { input: 2_000_000, output: 10_000_000, ..Rates::default() };
        let price = Price { rates, ..Price::default() };
        let mut cost = Cost::default();
        assert_eq!(cost.shown(), None);
        cost.add(None, Some(&usage(5, 5)));
        assert_eq!(cost.shown(), None);
        let mut cost = Cost::default();
        cost.add(Some(Price::FREE), Some(&usage(1_000, 10)));
        cost.add(Some(Price::FREE), None);
        assert_eq!(cost.shown(), None, "what is free is not told");
        cost.add(Some(price), Some(&usage(1_000, 10)));
        assert_eq!(cost.shown().as_deref(), Some("$0.0021"));
        cost.add(Some(price), Some(&usage(200_000, 10)));
        assert_eq!(cost.shown().as_deref(), Some("$0.40"));
        cost.add(Some(price), None);
        assert_eq!(cost.shown().as_deref(), Some("$0.40+"));
    }
}
