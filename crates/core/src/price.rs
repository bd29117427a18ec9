//! The costs of answers.
//!
//! Prices are whole micro-dollars for a million tokens, and costs are whole micro-dollars. There are no fractions, so
//! that sums over any number of answers are exact. A micro-dollar is a millionth of a dollar. Traces, budgets, metrics
//! and screens all take their costs from here.
//!
//! The built-in prices are a dated table with the price page of each provider: `price/prices.tsv`.

mod table;
pub mod tier;

use crate::usage::Usage;
use std::fmt;

/// The number of tokens that a rate is for.
const PER: u128 = 1_000_000;

/// The number of micro-dollars in a dollar.
pub const DOLLAR: u64 = 1_000_000;

/// Prices of a million tokens, in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Tokens of a request.
    pub input: u64,
    /// Tokens of an answer, thoughts among them.
    pub output: u64,
    /// Tokens read from a cache. `None`: as `input`.
    pub cache_read: Option<u64>,
    /// Tokens written to a cache. `None`: as `input`.
    pub cache_write: Option<u64>,
    /// Tokens of thoughts. `None`: as `output`.
    pub reasoning: Option<u64>,
}

/// The price of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// The rates of all requests, or of short ones.
    pub rates: Rates,
    /// The rates of longer requests: above this number of tokens of the request, these hold for all tokens.
    pub above: [Option<(u64, Rates)>; 3],
    /// The day of the look-up, if known.
    pub as_of: Option<Day>,
}

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day {
    year: u16,
    month: u8,
    day: u8,
}

impl Price {
    /// The price of a free model.
    pub const FREE: Price = Price {
        rates: Rates { input: 0, output: 0, cache_read: None, cache_write: None, reasoning: None },
        above: [None; 3],
        as_of: None,
    };

    /// The built-in price of a built-in provider's model.
    #[must_use]
    pub fn built_in(provider: &str, model: &str) -> Option<Price> {
        table::find(provider, model)
    }

    /// The names of a built-in provider's models whose price is built in.
    pub fn known(provider: &str) -> impl Iterator<Item = &'static str> {
        let of_provider = table::lines().filter(move |(section, _)| section.provider == provider);
        of_provider.filter_map(|(_, line)| Some(line.split_once('\t')?.0))
    }

    /// The cost of an answer in micro-dollars, rounded up. `None` if the provider reports no counts, or a [tier or a
    /// speed](tier) with a price of its own.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Option<u64> {
        if usage.is_priced_apart {
            return None;
        }
        let input = usage.uncached_input_tokens()?;
        let all = usage.output_tokens_with_reasoning()?;
        let said = usage.output_tokens_without_reasoning()?;
        let rates = self.at(usage.input_tokens_with_cached()?);
        let (read, write) = (usage.cache_read_tokens, usage.cache_write_tokens);
        Some(sum(&[
            (input, rates.input),
            (read.unwrap_or_default(), rates.cache_read.unwrap_or(rates.input)),
            (write.unwrap_or_default(), rates.cache_write.unwrap_or(rates.input)),
            (said, rates.output),
            (all.saturating_sub(said), rates.reasoning.unwrap_or(rates.output)),
        ]))
    }

    /// The highest cost of a request with this number of tokens, without its answer.
    #[must_use]
    pub fn of_request(&self, tokens: u64) -> u64 {
        let rates = self.at(tokens);
        let dearest = [Some(rates.input), rates.cache_read, rates.cache_write];
        sum(&[(tokens, dearest.into_iter().flatten().max().unwrap_or_default())])
    }

    /// The highest cost of this number of answer tokens. The rates depend on the tokens of the request.
    #[must_use]
    pub fn of_answer(&self, request: u64, tokens: u64) -> u64 {
        sum(&[(tokens, self.answer_rate(request))])
    }

    /// The number of answer tokens that this number of micro-dollars pays for at least. The rates depend on the
    /// tokens of the request.
    #[must_use]
    pub fn answer_for(&self, request: u64, micro: u64) -> u64 {
        match u128::from(self.answer_rate(request)) {
            0 => u64::MAX,
            rate => u64::try_from(u128::from(micro) * PER / rate).unwrap_or(u64::MAX),
        }
    }

    /// Whether all rates are 0.
    #[must_use]
    pub fn is_free(&self) -> bool {
        let mut all = std::iter::once(self.rates).chain(self.above.iter().flatten().map(|it| it.1));
        all.all(|rates| {
            let further = [rates.cache_read, rates.cache_write, rates.reasoning];
            rates.input == 0 && rates.output == 0 && further.iter().flatten().all(|it| *it == 0)
        })
    }

    /// The rates of a request with this number of tokens.
    fn at(&self, request: u64) -> Rates {
        let above = self.above.iter().flatten().filter(|(tokens, _)| request > *tokens);
        above.max_by_key(|(tokens, _)| *tokens).map_or(self.rates, |(_, rates)| *rates)
    }

    /// The higher rate of thought and text.
    fn answer_rate(&self, request: u64) -> u64 {
        let rates = self.at(request);
        rates.output.max(rates.reasoning.unwrap_or_default())
    }
}

/// The price of tokens at rates in micro-dollars, rounded up.
fn sum(parts: &[(u64, u64)]) -> u64 {
    let all: u128 = parts.iter().map(|(count, rate)| u128::from(*count) * u128::from(*rate)).sum();
    u64::try_from(all.div_ceil(PER)).unwrap_or(u64::MAX)
}

/// Parses dollars as people write them, such as `2.5`, into micro-dollars. Returns `None` if the text is not a number,
/// is below 0, or has more than six digits after the point.
#[must_use]
pub fn micro(dollars: &str) -> Option<u64> {
    let (whole, part) = dollars.split_once('.').unwrap_or((dollars, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return None;
    }
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(DOLLAR)?.checked_add(part)
}

/// Prints micro-dollars as dollars: `0.42`, `0.000021`.
#[derive(Clone, Copy, Debug)]
pub struct Dollars(pub u64);

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % DOLLAR);
        // Prints at least two digits for cents, and no further trailing zeros.
        let short = part.trim_end_matches('0');
        let digits = short.len().max(2);
        write!(f, "{}.{}", self.0 / DOLLAR, part.get(..digits).unwrap_or(&part))
    }
}

impl Day {
    /// Parses a day such as `2026-11-23`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        let is_form = [year.len(), month.len(), day.len()] == [4, 2, 2] && parts.next().is_none();
        let day =
            Day { year: year.parse().ok()?, month: month.parse().ok()?, day: day.parse().ok()? };
        let is_day = (1..=12).contains(&day.month) && (1..=31).contains(&day.day);
        (is_form && is_day).then_some(day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests;
