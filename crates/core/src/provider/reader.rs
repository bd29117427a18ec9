//! Reads a response body of a provider: the wire is seen from the body, and the model's rule is applied.

use super::target::tags_of;
use super::{Provider, Target};
use crate::event::Sink;
use crate::read::{Form, Reader};
use crate::tags::{Options, TagSpec};
use crate::wire::{Dialect, Wire, WireId, detect};

/// Reads one response body of a provider, on any of its wires.
///
/// The model that the body names decides whether thoughts are searched for between tags.
#[derive(Clone, Debug)]
pub struct ProviderReader {
    provider: &'static Provider,
    wire: Option<&'static dyn Wire>,
    tags: Option<TagSpec>,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    /// Too little came to tell.
    Undecided(Vec<u8>),
    Reading(Box<Reader>),
}

impl ProviderReader {
    /// A reader for one body. With a `wire` the body's shape is ignored, with `tags` the model's rule.
    #[must_use]
    pub fn new(
        provider: &'static Provider,
        wire: Option<&'static dyn Wire>,
        tags: Option<TagSpec>,
    ) -> Self {
        Self { provider, wire, tags, state: State::Undecided(Vec::new()) }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        match &mut self.state {
            State::Reading(reader) => reader.push(bytes, sink),
            State::Undecided(begun) => {
                begun.extend_from_slice(bytes);
                if let Some(seen) = detect::look(begun, false) {
                    self.decide(&seen, sink);
                }
            }
        }
    }

    /// The body is over. Returns `false` if no part of it could be read.
    pub fn end(&mut self, sink: &mut dyn Sink) -> bool {
        if let State::Undecided(begun) = &self.state {
            let seen = detect::look(begun, true).unwrap_or_default();
            self.decide(&seen, sink);
        }
        match &mut self.state {
            State::Reading(reader) => reader.end(sink),
            State::Undecided(_) => false,
        }
    }

    fn decide(&mut self, seen: &detect::Seen, sink: &mut dyn Sink) {
        let State::Undecided(begun) = &mut self.state else { return };
        let begun = std::mem::take(begun);
        let mut reader = self.reader(seen);
        reader.push(&begun, sink);
        self.state = State::Reading(Box::new(reader));
    }

    fn reader(&self, seen: &detect::Seen) -> Reader {
        let wire = match self.wire {
            Some(wire) => WireId::parse(wire.id()).ok(),
            None => self.provider.pick_wire(seen),
        };
        let model = seen.model.as_deref().unwrap_or_default();
        let target = self.provider.endpoint(wire).map(|it| Target::of(self.provider, it, model));
        let Some(target) = target else {
            // The provider is not known to speak this wire; the wire alone reads every spelling of it.
            let wire = wire.unwrap_or(WireId::FIRST);
            return self.tagged(Reader::new(wire.wire(), &Dialect::PLAIN, Form::Auto), None);
        };
        let reader = Reader::new(target.wire, &target.dialect, Form::Auto);
        self.tagged(reader, tags_of(&target.model, target.rule.tags))
    }

    fn tagged(&self, reader: Reader, of_model: Option<(TagSpec, Options)>) -> Reader {
        let said = self.tags.clone().map(|spec| (spec, Options::default()));
        match said.or(of_model) {
            Some((spec, options)) => reader.with_tags(&spec, options),
            None => reader,
        }
    }
}

impl Provider {
    /// The wire of a body by the findings in it: one of the provider's own wires, else the likeliest other wire.
    /// `None` if the body does not show it.
    #[must_use]
    pub fn pick_wire(&self, seen: &detect::Seen) -> Option<WireId> {
        let own = self.endpoints.iter().map(|endpoint| endpoint.wire);
        own.into_iter()
            .find(|wire| seen.wires.contains(&wire.as_str()))
            .or_else(|| seen.wires.iter().find_map(|id| WireId::parse(id).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::event::Fold;

    fn read(body: &str, cut: usize) -> crate::answer::Answer {
        let mut reader = ProviderReader::new(find("openai").unwrap(), None, None);
        let mut fold = Fold::new();
        let (head, tail) = body.split_at(cut);
        reader.push(head.as_bytes(), &mut fold);
        reader.push(tail.as_bytes(), &mut fold);
        assert!(reader.end(&mut fold));
        fold.finish()
    }

    #[test]
    fn the_bodys_shape_picks_the_wire_however_it_is_cut() {
        for body in [
            r#"{"object":"chat.completion","model":"m","choices":[{"index":0,"message":{"content":"Hi"}}]}"#,
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n",
            r#"{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]}"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}"#,
        ] {
            for cut in 0..body.len() {
                assert_eq!(read(body, cut).text(), "Hi", "{cut} {body}");
            }
        }
    }
}
