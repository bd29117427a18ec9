//! The results of the calls of one answer.

use crate::content::{Block, Content, ToolCall, ToolResponse};
use std::collections::{BTreeMap, VecDeque};

/// The results behind an answer, for the look-up by call.
pub(super) struct Results<'c> {
    /// In order; `None` if a call took it.
    given: Vec<Option<&'c ToolResponse>>,
    /// No result before it is left.
    first: usize,
    /// The places of the results that name a call.
    places: BTreeMap<&'c str, VecDeque<usize>>,
    /// How many results are left that name no call.
    nameless: usize,
}

impl<'c> Results<'c> {
    pub(super) fn of(given: &'c [Content]) -> Self {
        let blocks = given.iter().flat_map(|content| &content.blocks);
        let result = |block: &'c Block| match block {
            Block::ToolResponse(response) => Some(Some(response)),
            Block::Media(_)
            | Block::Other(_)
            | Block::Text(_)
            | Block::Thinking(_)
            | Block::ToolCall(_) => None,
        };
        let given: Vec<Option<&'c ToolResponse>> = blocks.filter_map(result).collect();
        let mut places: BTreeMap<&'c str, VecDeque<usize>> = BTreeMap::new();
        let mut nameless = 0;
        for (place, result) in given.iter().flatten().enumerate() {
            match &result.call_id {
                Some(id) => places.entry(id).or_default().push_back(place),
                None => nameless += 1,
            }
        }
        Results { given, first: 0, places, nameless }
    }

    /// The first result that names the call's id; without ids the first of all.
    pub(super) fn take(&mut self, call: &ToolCall) -> Option<&'c ToolResponse> {
        let Some(id) = call.id.as_deref().filter(|_| self.nameless == 0) else {
            return self.take_first();
        };
        let places = self.places.get_mut(id)?;
        while let Some(place) = places.pop_front() {
            if let Some(result) = self.given.get_mut(place).and_then(Option::take) {
                return Some(result);
            }
        }
        None
    }

    fn take_first(&mut self) -> Option<&'c ToolResponse> {
        while let Some(slot) = self.given.get_mut(self.first) {
            self.first += 1;
            if let Some(result) = slot.take() {
                self.nameless -= usize::from(result.call_id.is_none());
                return Some(result);
            }
        }
        None
    }

    pub(super) fn rest(self) -> impl Iterator<Item = &'c ToolResponse> {
        self.given.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Speaker;
    use crate::json::{Extra, Raw};
    use std::time::{Duration, Instant};

    fn given(ids: impl Iterator<Item = Option<String>>) -> Vec<Content> {
        let result = |call_id| ToolResponse {
            call_id,
            name: None,
            result: Raw::build(|w| w.object(|_| {})).into(),
            is_error: false,
            extra: Extra::default(),
        };
        vec![Content::new(Speaker::Tool, ids.map(|id| Block::ToolResponse(result(id))).collect())]
    }

    #[test]
    fn a_call_takes_its_own_result_and_the_first_where_one_names_no_call() {
        let id = |it: Option<&ToolResponse>| it.map(|result| result.call_id.clone());
        let given_all = given(["a", "b", "a", "c"].map(|id| Some(id.to_owned())).into_iter());
        let mut results = Results::of(&given_all);
        for (call, taken) in [("c", Some("c")), ("a", Some("a")), ("c", None), ("a", Some("a"))] {
            let found = id(results.take(&ToolCall::new(Some(call), "f")));
            assert_eq!(found, taken.map(|id| Some(id.to_owned())), "{call}");
        }
        assert_eq!(id(results.rest().next()), Some(Some("b".to_owned())));
        let some = given([Some("a".to_owned()), None, Some("b".to_owned())].into_iter());
        let mut results = Results::of(&some);
        let mut next = |call: &str| id(results.take(&ToolCall::new(Some(call), "f")));
        assert_eq!(
            [next("b"), next("b"), next("b")].map(Option::flatten),
            [Some("a".to_owned()), None, Some("b".to_owned())]
        );
    }

    /// The shortest of some runs over that many calls, with results in the opposite order.
    fn took(calls: usize) -> Duration {
        let name = |place: usize| format!("call_{place}");
        let given = given((0..calls).rev().map(|place| Some(name(place))));
        let run = || {
            let began = Instant::now();
            let mut results = Results::of(&given);
            assert!(
                (0..calls)
                    .all(|place| results.take(&ToolCall::new(Some(&name(place)), "f")).is_some())
            );
            began.elapsed()
        };
        (0..3).map(|_| run()).min().unwrap_or_default()
    }

    #[test]
    fn many_calls_of_one_answer_take_linear_work() {
        let ratio = || took(16_000).as_secs_f64() / took(4_000).as_secs_f64();
        // Linear work takes four times as long, quadratic work sixteen times; an unlucky comparison is made again.
        assert!((0..3).map(|_| ratio()).any(|ratio| ratio < 9.0));
    }
}
