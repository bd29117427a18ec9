//! What a request may cost before it is sent, and what its answer may.

use crate::door::{Turned, turned};
use thinkthrough_core::budget::Ask;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::json::Val;
use thinkthrough_core::price::Price;
use thinkthrough_core::tokens::estimate_conservative;
use thinkthrough_core::usage::Usage;

/// A longer text without a space is a picture or something of the kind, and no text.
const TEXT: usize = 4_096;
/// What such a thing counts for: more than any picture does at the providers of our rules.
const MEDIA: u64 = 4_096;
/// The tiers that have the usual price, or a lower one.
const USUAL: [&str; 7] =
    ["auto", "batch", "default", "flex", "on_demand", "standard", "standard_only"];

/// A request at the price of its model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    price: Price,
    /// The estimate of its tokens.
    request: u64,
}

/// What came of an answer, where its provider does not say what it cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Came {
    /// Tokens of thoughts.
    pub(crate) thought: u64,
    /// Tokens of all that came, thoughts among them.
    pub(crate) all: u64,
    /// It came to its end.
    pub(crate) is_whole: bool,
}

impl Bill {
    /// Refuses what nobody knows the price of.
    pub(super) fn of(asked: &RequestContext<'_>) -> Result<Self, Turned> {
        let (target, root) = (asked.target(), asked.root());
        let name = format!("{}/{}", target.provider, target.model);
        let tier = root.string("service_tier").or_else(|| root.string("speed"));
        if let Some(tier) = tier.filter(|tier| !USUAL.contains(&tier.as_str())) {
            let message = format!(
                "nobody knows what `{name}` costs as `{tier}`, and this key has a budget in dollars; ask for it without that"
            );
            return Err(turned(402, "price_unknown", message));
        }
        let price = target.price.ok_or_else(|| {
            let message = format!(
                "nobody knows what `{name}` costs, and this key has a budget in dollars; the gateway's operator says it \
                 under `[prices.\"{name}\"]`: `input` and `output`, dollars for a million tokens, 0 for what is free"
            );
            turned(402, "price_unknown", message)
        })?;
        Ok(Bill { price, request: tokens(root) })
    }

    /// What the request asks of a budget, if its answer may take so many tokens, and fewer than `least` are of no use.
    pub(super) fn ask(&self, answer: u64, least: u64) -> Ask {
        let request = self.price.of_request(self.request);
        let with = |tokens| request.saturating_add(self.price.of_answer(self.request, tokens));
        Ask { wanted: with(answer), least: with(answer.min(least)) }
    }

    /// How many tokens of the answer so many micro-dollars pay for, the request paid.
    pub(super) fn answer_for(&self, micro: u64) -> u64 {
        let left = micro.saturating_sub(self.price.of_request(self.request));
        self.price.answer_for(self.request, left)
    }

    /// What it did cost: what its provider counted, else what came. Of an answer that was cut the provider may have
    /// counted less than it will say to whoever pays.
    pub(super) fn settled(&self, usage: Option<&Usage>, came: Came) -> u64 {
        let estimate = || {
            let answer = self.price.of_answer(self.request, came.all);
            self.price.of_request(self.request).saturating_add(answer)
        };
        match usage.and_then(|usage| self.price.of(usage)) {
            Some(cost) if came.is_whole => cost,
            Some(cost) => cost.max(estimate()),
            None => estimate(),
        }
    }
}

/// The estimate of a request's tokens.
fn tokens(value: Val<'_>) -> u64 {
    if value.is_array() {
        return value.items().map(tokens).fold(1, u64::saturating_add);
    }
    if value.is_object() {
        let members = value.entries();
        let members =
            members.map(|(key, value)| estimate_conservative(&key).saturating_add(tokens(value)));
        return members.fold(1, u64::saturating_add);
    }
    let text = value.raw();
    let is_media = text.len() > TEXT && !text.contains(' ');
    if is_media { MEDIA } else { estimate_conservative(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::json::Doc;
    use thinkthrough_core::price::Rates;

    #[test]
    fn a_picture_counts_for_a_flat_number_and_a_text_for_its_letters() {
        let (picture, text) = ("A".repeat(400_000), "word ".repeat(20_000));
        let count = |said: &str| {
            let body = format!(r#"{{"contents":["{said}","Why is that so?"]}}"#);
            tokens(Doc::parse_str(&body).unwrap().root())
        };
        assert!((MEDIA..MEDIA + 40).contains(&count(&picture)), "{}", count(&picture));
        assert!(count(&text) >= 20_000, "{}", count(&text));
    }

    #[test]
    fn what_an_answer_cost_is_what_was_counted_and_of_a_cut_one_at_least_what_came() {
        let rates = Rates { input: 1_000_000, output: 10_000_000, ..Rates::default() };
        let bill = Bill { price: Price { rates, ..Price::default() }, request: 100 };
        assert_eq!(bill.ask(5, 1), Ask { wanted: 150, least: 110 });
        assert_eq!((bill.answer_for(150), bill.answer_for(99)), (5, 0));
        let usage = Usage { input_tokens: Some(90), output_tokens: Some(2), ..Usage::default() };
        let came = |is_whole| Came { thought: 0, all: 7, is_whole };
        assert_eq!(bill.settled(Some(&usage), came(true)), 110);
        assert_eq!(bill.settled(Some(&usage), came(false)), 170);
        assert_eq!(bill.settled(None, came(true)), 170);
        let free = Bill { price: Price::FREE, ..bill };
        assert_eq!(free.ask(5, 1), Ask { wanted: 0, least: 0 });
    }
}
