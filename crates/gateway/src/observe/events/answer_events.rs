//! The events of one answer on their way to its announcer, which announces them to listeners.

use super::Events;
use super::announced::Whose;
use super::announcer::{Announcer, OpenBlock};
use super::outbox::{Order, Outbox, SharedAnnouncer};
use crate::observe::summary::Summary;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::Duration;
use thinkthrough_core::event::Event;
use tokio::time::{Instant, Sleep};

/// How long the end of a text that may be the beginning of a secret is held back while nothing follows.
const PATIENCE: Duration = Duration::from_millis(100);

/// The listeners' side of one answer: empty without listeners.
#[derive(Default)]
pub(crate) struct AnswerEvents {
    /// The generation of listeners at the last look.
    generation: u64,
    announcer: Option<(Outbox, SharedAnnouncer)>,
    open: OpenBlock,
    /// The time at which the held-back end of a text is let go.
    until: Option<Instant>,
    quiet: Option<Pin<Box<Sleep>>>,
}

impl AnswerEvents {
    /// Whether the listeners are the same as at the last look.
    pub(crate) fn is_of(&self, generation: u64) -> bool {
        self.generation == generation
    }

    /// Updates the listeners of this request. New ones join here.
    pub(crate) fn tune(&mut self, generation: u64, to: Option<(&Events, &Whose, &Summary)>) {
        self.generation = generation;
        let channels = to.map(|(events, whose, _)| events.answer_events(&whose.tenant));
        let (Some((events, whose, summary)), Some(channels)) = (to, channels) else {
            self.announcer = None;
            return;
        };
        match &mut self.announcer {
            _ if channels.is_empty() => self.announcer = None,
            Some((outbox, announcer)) => outbox.say(announcer, Order::Tune(channels)),
            None => {
                let masker = events.masker();
                let about = whose.about(summary, &masker);
                let announcer = Arc::new(Mutex::new(Announcer::new(&masker, about, channels)));
                let outbox = whose.outbox.clone();
                outbox.say(&announcer, Order::Join(Box::new(self.open.clone())));
                self.announcer = Some((outbox, announcer));
            }
        }
    }

    /// Passes on an event of the answer. If a request has several answers, only the first one has listeners.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if let Some((outbox, announcer)) = &self.announcer {
            outbox.event(announcer, event);
        }
        self.open.event(event);
    }

    /// All events of one piece of the answer were passed on.
    pub(crate) fn pause(&mut self) {
        let Some((outbox, announcer)) = &self.announcer else { return };
        outbox.say(announcer, Order::Pause);
        self.until = outbox.holds_back(announcer).then(|| Instant::now() + PATIENCE);
    }

    /// Lets held-back text go after a pause of the answer.
    pub(crate) fn poll_quiet(&mut self, cx: &mut Context<'_>) {
        let (Some(until), Some((outbox, announcer))) = (self.until, &self.announcer) else {
            return;
        };
        let quiet = self.quiet.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        if quiet.deadline() != until {
            quiet.as_mut().reset(until);
        }
        if quiet.as_mut().poll(cx).is_ready() {
            self.until = None;
            outbox.say(announcer, Order::Flush);
        }
    }

    /// Ends the events of the answer.
    pub(crate) fn end(&mut self) {
        self.until = None;
        if let Some((outbox, announcer)) = self.announcer.take() {
            outbox.say(&announcer, Order::End);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Scope, Subscription};
    use super::*;
    use crate::load::{Gauges, Pools};
    use thinkthrough_core::content::Thinking;
    use thinkthrough_core::plane::Tenant;
    use thinkthrough_mask::Masker;
    use thinkthrough_mask::Tiers;

    /// The events for a listener that joins after `cut` letters.
    async fn heard_from(masker: &Masker, text: &str, cut: usize) -> String {
        let masker = masker.clone();
        let events = Events::masked_by(Arc::new(move || masker.clone()));
        let (tenant, mut answer_events) = (Tenant::local(), AnswerEvents::default());
        answer_events.event(Event::ThinkingStart { block: 0, source_field: "thinking" });
        let say = |answer_events: &mut AnswerEvents, text: &str| {
            for letter in text.chars().map(String::from) {
                let delta = letter.as_str();
                answer_events.event(Event::ThinkingDelta { block: 0, delta });
                answer_events.pause();
            }
        };
        let (before, from) = text.split_at(cut);
        say(&mut answer_events, before);
        let scope = Scope::Tenants(vec![tenant.clone()]);
        let mut listener = events.listen(scope, Subscription::default());
        let outbox = Outbox::new(&Pools::new(&Gauges::default()), &tenant);
        let whose = Whose { tenant, session: None, run: None, outbox };
        answer_events.tune(events.generation(), Some((&events, &whose, &Summary::new(0, "chat"))));
        say(&mut answer_events, from);
        let thinking = Thinking::new(text, "thinking");
        answer_events.event(Event::ThinkingEnd { block: 0, thinking: &thinking, thought: None });
        answer_events.end();
        let mut told = String::new();
        while !told.contains("thinking_end") {
            listener.next().await.iter().for_each(|event| told.push_str(&event.json));
        }
        told
    }

    #[tokio::test]
    async fn a_listener_that_comes_inside_of_a_secret_or_a_span_hears_nothing_of_it() {
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let span = "<REDACTED>PIIalpha77 PIIbeta88</REDACTED>";
        let text = format!("it is {key}, and {span} here");
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        for cut in 0..text.len() {
            let told = heard_from(&masker, &text, cut).await;
            for secret in [key.as_str(), "PIIalpha77", "PIIbeta88"] {
                // Letters come one by one, so that the letters of a secret would be separate.
                let said: String = told
                    .split("\"delta\":\"")
                    .skip(1)
                    .filter_map(|rest| rest.split('"').next())
                    .collect();
                let parts = secret.as_bytes().windows(5);
                let part = parts.filter_map(|part| std::str::from_utf8(part).ok());
                assert_eq!(part.filter(|part| said.contains(part)).count(), 0, "{cut}: {said}");
            }
            assert!(told.contains("thinking_start") && told.contains("thinking_end"), "{told}");
        }
    }
}
