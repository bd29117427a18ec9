//! Id, model and time of an answer that is written anew, for upstreams that give none. Clients distinguish answers by
//! their ids, and some cannot read an answer without one of the three.

use super::RequestContext;
use crate::answer::Answer;
use crate::event::{Event, Fact};
use crate::json::Raw;
use crate::wire::Wire;

/// The values that an answer gets if the upstream gives none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// A random id, without the prefix of a wire.
    pub id: String,
    /// The time of the request, in seconds since 1970.
    pub at: u64,
}

impl RequestContext<'_> {
    /// Sets the id and the time for an answer whose upstream gives none. Its model is then the model of the request.
    pub fn set_stamp(&mut self, stamp: Stamp) {
        self.stamp = Some(stamp);
    }
}

/// The values that the upstream has not given so far.
#[derive(Debug, Default)]
pub(super) struct Missing {
    wire: &'static str,
    id: Option<String>,
    model: Option<String>,
    /// The member of the caller's wire for the time, with its value.
    time: Option<(&'static str, Raw)>,
    /// The caller has these values already.
    is_told: bool,
}

impl Missing {
    /// All values, for an answer to this request.
    pub(super) fn of(asked: &RequestContext<'_>, caller: &'static dyn Wire) -> Self {
        let Some(Stamp { id, at }) = &asked.stamp else { return Missing::default() };
        let identity = caller.identity();
        Missing {
            wire: caller.id(),
            id: Some(format!("{}{id}", identity.prefix)),
            model: Some(asked.alias.as_ref().unwrap_or(&asked.target.model).clone()),
            time: identity.time.map(|key| (key, Raw::build(|w| w.u64(*at)))),
            is_told: false,
        }
    }

    /// Reads an event of the upstream. `pass` gets the missing values before the first event that is content or an error.
    pub(super) fn before(&mut self, event: Event<'_>, pass: &mut dyn FnMut(Event<'_>)) {
        if self.is_told {
            return;
        }
        match event {
            Event::Fact(Fact::ResponseId(_)) => self.id = None,
            Event::Fact(Fact::Model(_)) => self.model = None,
            Event::Fact(Fact::Field { wire, key, .. }) if wire == self.wire => {
                self.time.take_if(|(time, _)| *time == key);
            }
            Event::Problem(problem) if !problem.breaks() => {}
            Event::Fact(_) | Event::Usage(_) => {}
            _ => {
                let Missing { wire, id, model, time, is_told } = self;
                *is_told = true;
                if let Some(id) = &*id {
                    pass(Event::Fact(Fact::ResponseId(id)));
                }
                if let Some(model) = &*model {
                    pass(Event::Fact(Fact::Model(model)));
                }
                if let Some((key, value)) = &*time {
                    pass(Event::Fact(Fact::Field { wire, key, value }));
                }
            }
        }
    }

    /// Whether a whole answer lacks one of these values.
    pub(super) fn is_in(&self, answer: &Answer) -> bool {
        (answer.response_id.is_none() && self.id.is_some())
            || (answer.model.is_none() && self.model.is_some())
            || self.time.as_ref().is_some_and(|(key, _)| answer.extra.get(self.wire, key).is_none())
    }

    /// Adds the missing values to a whole answer.
    pub(super) fn fill(&self, answer: &mut Answer) {
        let Missing { wire, id, model, time, .. } = self;
        answer.response_id = answer.response_id.take().or_else(|| id.clone());
        answer.model = answer.model.take().or_else(|| model.clone());
        if let Some((key, value)) =
            time.as_ref().filter(|it| answer.extra.get(wire, it.0).is_none())
        {
            answer.extra.insert(wire, key, value.clone());
        }
    }
}
