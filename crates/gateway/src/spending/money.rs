//! The cost of a request before it is sent, and of its answer.

use super::bulk;
use super::came::Came;
use crate::rejection::{Rejection, rejection};
use thinkthrough_core::price::{Price, tier};
use thinkthrough_core::provider::Target;
use thinkthrough_core::usage::Usage;
use thinkthrough_json::Val;
use thinkthrough_limits::Ask;

/// The most bytes that a body grows by when the gateway changes its caps.
const SPARE: u64 = 64;

/// A request at the price of its model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    price: Price,
    /// The estimate of its tokens.
    request: u64,
}

impl Bill {
    /// Refuses a body whose price is unknown.
    pub(super) fn of(target: &Target, body: Val<'_>) -> Result<Self, Rejection> {
        let name = format!("{}/{}", target.provider, target.model);
        if let Some(tier) = tier::unusual(body) {
            let message = format!(
                "nobody knows what `{name}` costs as `{tier}`, and this key has a budget in dollars; ask for it without that"
            );
            return Err(rejection(402, "price_unknown", message));
        }
        let price = target.price.ok_or_else(|| {
            let message = format!(
                "nobody knows what `{name}` costs, and this key has a budget in dollars; the gateway's operator says it \
                 under `[prices.\"{name}\"]`: `input` and `output`, dollars for a million tokens, 0 for what is free"
            );
            rejection(402, "price_unknown", message)
        })?;
        Ok(Bill { price, request: bulk::tokens(body).saturating_add(SPARE) })
    }

    /// The demand on a budget if the answer may take `answer` tokens, and fewer than `least` are of no use.
    pub(super) fn ask(&self, answer: u64, least: u64) -> Ask {
        let request = self.price.of_request(self.request);
        let with = |tokens| request.saturating_add(self.price.of_answer(self.request, tokens));
        Ask { wanted: with(answer), least: with(answer.min(least)) }
    }

    /// The tokens of the answer that this amount of micro-dollars pays for, after the request.
    pub(super) fn answer_for(&self, micro: u64) -> u64 {
        let left = micro.saturating_sub(self.price.of_request(self.request));
        self.price.answer_for(self.request, left)
    }

    /// The final cost, from the provider's count if there is one, else from the estimate.
    pub(super) fn settled(&self, usage: &Usage, came: Came) -> u64 {
        self.price.of(usage).unwrap_or_else(|| {
            let answer = self.price.of_answer(self.request, came.all);
            self.price.of_request(self.request).saturating_add(answer)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::price::Rates;

    #[test]
    fn what_an_answer_cost_is_what_was_counted_and_of_a_cut_one_at_least_what_came() {
        let rates = Rates { input: 1_000_000, output: 10_000_000, ..Rates::default() };
        let bill = Bill { price: Price { rates, ..Price::default() }, request: 100 };
        assert_eq!(bill.ask(5, 1), Ask { wanted: 150, least: 110 });
        assert_eq!((bill.answer_for(150), bill.answer_for(99)), (5, 0));
        let usage = Usage { input_tokens: Some(90), output_tokens: Some(2), ..Usage::default() };
        let came = |is_whole| Came { thought: 0, all: 7, is_whole };
        let settled = |usage, is_whole| {
            let came = came(is_whole);
            bill.settled(&came.settled(usage).usage, came)
        };
        assert_eq!(settled(Some(&usage), true), 110);
        assert_eq!(settled(Some(&usage), false), 160);
        assert_eq!(settled(None, true), 170);
        let free = Bill { price: Price::FREE, ..bill };
        assert_eq!(free.ask(5, 1), Ask { wanted: 0, least: 0 });
    }
}
