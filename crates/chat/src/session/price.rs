//! What answers cost, where prices are known.

use thinkthrough_core::usage::Usage;

/// The price of a model, in dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Tokens of a request.
    pub input: f64,
    /// Tokens of an answer, thoughts among them.
    pub output: f64,
    /// Tokens of a request that a cache gave; as `input` where it is not said.
    pub cache_read: Option<f64>,
    /// Tokens of a request that a cache took; as `input` where it is not said.
    pub cache_write: Option<f64>,
}

impl Price {
    /// What an answer cost, if the provider said what it counted.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Option<f64> {
        let input = usage.uncached_input_tokens()?;
        let output = usage.output_tokens_with_reasoning()?;
        let (read, write) = (usage.cache_read_tokens, usage.cache_write_tokens);
        let sum = [
            (input, self.input),
            (output, self.output),
            (read.unwrap_or_default(), self.cache_read.unwrap_or(self.input)),
            (write.unwrap_or_default(), self.cache_write.unwrap_or(self.input)),
        ];
        #[expect(clippy::cast_precision_loss, reason = "a share of a cent in a million dollars")]
        Some(sum.iter().map(|(tokens, price)| *tokens as f64 * price / 1e6).sum())
    }
}

/// What a session cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    known: Option<f64>,
    /// Something was asked of which nobody knows what it cost.
    is_partial: bool,
}

impl Cost {
    pub(super) fn add(&mut self, price: Option<Price>, usage: Option<&Usage>) {
        match price.zip(usage).and_then(|(price, usage)| price.of(usage)) {
            Some(cost) => self.known = Some(self.known.unwrap_or_default() + cost),
            None => self.is_partial = true,
        }
    }

    /// `$0.42`, or `$0.42+` where that is not all; nothing where nothing is known.
    pub(super) fn shown(self) -> Option<String> {
        let known = self.known?;
        let more = if self.is_partial { "+" } else { "" };
        Some(if known < 0.01 { format!("${known:.4}{more}") } else { format!("${known:.2}{more}") })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Price};
    use thinkthrough_core::usage::Usage;

    const PRICE: Price =
        Price { input: 2.0, output: 10.0, cache_read: Some(0.5), cache_write: None };

    fn usage(input: u64, output: u64, cached: Option<u64>) -> Usage {
        Usage {
            input_tokens: Some(input),
            output_tokens: Some(output),
            cache_read_tokens: cached,
            ..Usage::default()
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let cost = PRICE.of(&usage(1_000_000, 100_000, Some(400_000))).unwrap();
        assert!((cost - (1.2 + 1.0 + 0.2)).abs() < 1e-9, "{cost}");
        assert_eq!(PRICE.of(&Usage { input_tokens: Some(1), ..Usage::default() }), None);
    }

    #[test]
    fn what_is_not_known_is_not_shown_and_never_nothing() {
        let mut cost = Cost::default();
        assert_eq!(cost.shown(), None);
        cost.add(None, Some(&usage(5, 5, None)));
        assert_eq!(cost.shown(), None);
        let mut cost = Cost::default();
        cost.add(Some(PRICE), Some(&usage(1_000, 10, None)));
        assert_eq!(cost.shown().as_deref(), Some("$0.0021"));
        cost.add(Some(PRICE), Some(&usage(200_000, 10, None)));
        assert_eq!(cost.shown().as_deref(), Some("$0.40"));
        cost.add(Some(PRICE), None);
        assert_eq!(cost.shown().as_deref(), Some("$0.40+"));
    }
}
