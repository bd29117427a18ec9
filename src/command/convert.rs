//! `think convert`: a body of one wire in, the same of another wire out.

use std::io::Write;

use clap::{Args, ValueEnum};
use thinkthrough_core::convert::{self, Converted, StreamConverter};
use thinkthrough_core::wire::{Wire, detect};

use crate::failure::{Failure, say};
use crate::input::Input;
use crate::known;

/// Translate a request, a response or a stream from one wire to another
///
/// What the other wire cannot say is named on standard error. An error body becomes the other wire's error body.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think convert --from messages --to chat-completions request.json
  curl -sN $URL -d @request.json | think convert --from responses --to messages --kind stream")]
pub(crate) struct Convert {
    /// The wire that the body is of
    #[arg(long, value_name = "WIRE", value_parser = known::wires())]
    from: &'static dyn Wire,
    /// The wire that it becomes
    #[arg(long, value_name = "WIRE", value_parser = known::wires(), hide_possible_values = true)]
    to: &'static dyn Wire,
    /// What the body is; seen from the body when left out
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    input: Input,
}

/// What a body is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Kind {
    Request,
    Response,
    Stream,
}

impl Convert {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if let Some(Kind::Stream) = self.kind {
            let mut converter = StreamConverter::new(self.from, self.to);
            self.input.each(&mut |bytes| {
                let mut converted = Vec::new();
                converter.push(bytes, &mut converted);
                out.write_all(&converted)?;
                Ok(out.flush()?)
            })?;
            return self.end(converter, out);
        }
        let body = self.input.all()?;
        let kind = self.kind.unwrap_or_else(|| match detect::kind(&body, self.from.framing()) {
            detect::Kind::Request => Kind::Request,
            detect::Kind::Response => Kind::Response,
            detect::Kind::Stream => Kind::Stream,
        });
        match kind {
            Kind::Request => {
                let text = String::from_utf8_lossy(&body);
                let converted = convert::request(self.from, self.to, &text).map_err(|error| {
                    Failure::Failed(format!(
                        "the input is no request of `{}`: {error}; check `--from` and `--kind`",
                        self.from.id()
                    ))
                })?;
                self.write(&converted, out)
            }
            Kind::Response => {
                let converted = convert::response(self.from, self.to, &body);
                self.write(&converted.ok_or_else(|| self.unreadable())?, out)
            }
            Kind::Stream => {
                let mut converter = StreamConverter::new(self.from, self.to);
                let mut converted = Vec::new();
                converter.push(&body, &mut converted);
                out.write_all(&converted)?;
                self.end(converter, out)
            }
        }
    }

    fn write(&self, converted: &Converted, out: &mut dyn Write) -> Result<(), Failure> {
        writeln!(out, "{}", converted.body)?;
        self.tell(&converted.untranslated);
        Ok(())
    }

    fn end(&self, converter: StreamConverter, out: &mut dyn Write) -> Result<(), Failure> {
        let mut converted = Vec::new();
        let lost = converter.end(&mut converted);
        out.write_all(&converted)?;
        self.tell(&lost.ok_or_else(|| self.unreadable())?);
        Ok(())
    }

    fn tell(&self, untranslated: &[String]) {
        if !untranslated.is_empty() {
            let names = untranslated.join(", ");
            say(format_args!("untranslated: `{}` cannot say {names}", self.to.id()));
        }
    }

    fn unreadable(&self) -> Failure {
        Failure::Failed(format!(
            "nothing in the input can be read as `{}`; check `--from` and `--kind`",
            self.from.id()
        ))
    }
}
