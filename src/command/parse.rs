//! `think parse`: reads a response body, and prints its thoughts, text and tool calls.

use std::io::{self, Write};

use clap::Args;
use thinkthrough_core::event::{Event, Fold, Sink};
use thinkthrough_core::provider::{Provider, ProviderReader};
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::shape;
use thinkthrough_core::tags::{Options, TagSpec, TextReader};
use thinkthrough_core::wire::{self, Dialect, Wire, detect};
use thinkthrough_json::Writer;

use crate::failure::Failure;
use crate::input::Input;
use crate::known;
use crate::printed::{for_output, printed};

/// Read what a model answered: thoughts, text, tool calls, usage
///
/// Takes the body of a response as the API sent it (whole or streamed, an answer or an error) and prints it as one
/// line of JSON. The form is seen from the body.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think parse answer.json                         the wire is seen from the body
  think parse --wire messages answer.json
  curl -sN $URL -d @request.json | think parse --wire chat-completions --events
  think parse --provider mistral answer.json      the wire is seen from the body
  think parse --tags qwen3 output.txt             plain text with <think> in it")]
pub(crate) struct Parse {
    /// The wire that the body is of; reads every known spelling of its fields
    #[arg(long, value_name = "WIRE", value_parser = known::wires())]
    wire: Option<&'static dyn Wire>,
    /// Who sent it; picks the wire by the body's shape, and knows which models think in tags
    #[arg(long, value_name = "PROVIDER", value_parser = known::providers(), hide_possible_values = true)]
    provider: Option<&'static Provider>,
    /// Also take thoughts between tags out of the text; alone, it reads plain text
    #[arg(long, value_name = "FAMILY", value_parser = known::families(), hide_possible_values = true)]
    tags: Option<TagSpec>,
    /// Print a line for each event as soon as it is read, instead of the finished answer
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    input: Input,
}

impl Parse {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if let (Some(provider), Some(wire)) = (self.provider, self.wire)
            && !provider.endpoints.iter().any(|it| it.wire.as_str() == wire.id())
        {
            crate::failure::say(format_args!(
                "note: `{}` is not known to speak `{}`; the body is read by the wire alone",
                provider.id,
                wire.id()
            ));
        }
        let has_read = if self.events { self.stream(out)? } else { self.fold(out)? };
        if has_read {
            return Ok(());
        }
        Err(Failure::Failed(
            "nothing in the input can be read; give the body of a response of the named wire or provider"
                .to_owned(),
        ))
    }

    fn fold(&self, out: &mut dyn Write) -> Result<bool, Failure> {
        let mut body = self.body();
        let mut fold = Fold::new();
        self.input.each(&mut |bytes| {
            body.push(bytes, &mut fold);
            Ok(())
        })?;
        let has_read = body.end(&mut fold)?;
        let mut json = Writer::new();
        shape::write_answer(&mut json, &fold.finish());
        writeln!(out, "{}", for_output(&json.finish()))?;
        Ok(has_read)
    }

    fn stream(&self, out: &mut dyn Write) -> Result<bool, Failure> {
        let mut body = self.body();
        let mut lines = Lines { out, result: Ok(()) };
        self.input.each(&mut |bytes| {
            body.push(bytes, &mut lines);
            lines.flush()
        })?;
        let has_read = body.end(&mut lines)?;
        lines.flush()?;
        Ok(has_read)
    }

    fn body(&self) -> Body {
        match (self.provider, self.wire, &self.tags) {
            (Some(provider), wire, tags) => {
                Body::Provider(Box::new(ProviderReader::new(provider, wire, tags.clone())))
            }
            (None, Some(wire), Some(tags)) => {
                let reader = Reader::new(wire, &Dialect::PLAIN, Form::Auto);
                Body::Wire(Box::new(reader.with_tags(tags, Options::default())))
            }
            (None, Some(wire), None) => {
                Body::Wire(Box::new(Reader::new(wire, &Dialect::PLAIN, Form::Auto)))
            }
            (None, None, Some(tags)) => {
                Body::Text(Box::new(TextReader::new(tags, Options::default())))
            }
            (None, None, None) => Body::Detected(Box::default()),
        }
    }
}

enum Body {
    Detected(Box<Detected>),
    Provider(Box<ProviderReader>),
    Text(Box<TextReader>),
    Wire(Box<Reader>),
}

impl Body {
    fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        match self {
            Body::Detected(detected) => detected.push(bytes, sink),
            Body::Provider(reader) => reader.push(bytes, sink),
            Body::Text(reader) => reader.push(bytes, sink),
            Body::Wire(reader) => reader.push(bytes, sink),
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<bool, Failure> {
        Ok(match self {
            Body::Detected(detected) => return detected.end(sink),
            Body::Provider(reader) => reader.end(sink),
            // Any text is readable.
            Body::Text(reader) => {
                reader.end(sink);
                true
            }
            Body::Wire(reader) => reader.end(sink),
        })
    }
}

/// A body whose wire is detected from its beginning.
#[derive(Default)]
struct Detected {
    /// The bytes before the wire is detected.
    begun: Vec<u8>,
    /// Detection has ended. If `reader` is `None`, it found no wire.
    is_seen: bool,
    reader: Option<Reader>,
}

impl Detected {
    fn push(&mut self, bytes: &[u8], sink: &mut dyn Sink) {
        match &mut self.reader {
            Some(reader) => reader.push(bytes, sink),
            None if self.is_seen => {}
            None => {
                self.begun.extend_from_slice(bytes);
                self.look(false, sink);
            }
        }
    }

    fn look(&mut self, is_all: bool, sink: &mut dyn Sink) {
        let Some(seen) = detect::look(&self.begun, is_all) else { return };
        self.is_seen = true;
        let begun = std::mem::take(&mut self.begun);
        // The likeliest wire accepts every known spelling of its fields.
        let wire = seen.wires.first().and_then(|id| wire::find(id));
        self.reader = wire.map(|wire| Reader::new(wire, &Dialect::PLAIN, Form::Auto));
        if let Some(reader) = &mut self.reader {
            reader.push(&begun, sink);
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) -> Result<bool, Failure> {
        if !self.is_seen {
            self.look(true, sink);
        }
        let known: Vec<&str> = wire::ALL.iter().map(|wire| wire.id()).collect();
        let known = known.join(", ");
        let unseen = || {
            Failure::Usage(format!(
                "the input does not show its API; name it with `--wire` (one of {known}), `--provider` or `--tags`"
            ))
        };
        Ok(self.reader.as_mut().ok_or_else(unseen)?.end(sink))
    }
}

/// Writes each event as a line of JSON.
struct Lines<'a> {
    out: &'a mut dyn Write,
    result: io::Result<()>,
}

impl Lines<'_> {
    fn flush(&mut self) -> Result<(), Failure> {
        std::mem::replace(&mut self.result, Ok(()))?;
        Ok(self.out.flush()?)
    }
}

impl Sink for Lines<'_> {
    fn event(&mut self, event: Event<'_>) {
        let mut json = Writer::new();
        if self.result.is_ok() && shape::write_event(&mut json, &event, &|_| {}) {
            self.result = writeln!(self.out, "{}", printed(&json.finish()));
        }
    }
}
