//! `think mask`: secrets out of a stream.

use std::io::Write;

use clap::Args;
use thinkthrough_mask::Tiers;

use crate::failure::{Failure, say};
use crate::input::Input;
use crate::masking::masker;

/// Take the secrets out of a text
///
/// Reads a text and writes it again with a placeholder where each secret stood: `[masked:github-token:k3v7qa]` says
/// what kind of secret it was. Equal secrets have equal letters at the end within one run, and nobody can compute a
/// secret from them. What is no secret comes through byte for byte, as soon as it is clear that it is none, so that it
/// can stand in a pipe behind a program that goes on for days.
#[derive(Debug, Args)]
#[command(after_help = "Tiers:
  0  the values of environment variables whose names end in _KEY, _TOKEN, _SECRET or _PASSWORD,
     in every encoding: plain, JSON, URL, hexadecimal, base64
  1  what is a secret by its own form: keys of some 300 services, private keys, JSON web tokens,
     passwords in addresses, values of headers such as Authorization
  2  what is one by the name before it, as in `password = ...`, if it looks like one, and
     passwords on command lines
  3  personal data: addresses of mail, numbers of cards, accounts, telephones and of social
     security; only where the list names it

Examples:
  think mask session.log > clean.log
  some-agent 2>&1 | think mask --stats
  think mask --tiers 0,1 notes.md")]
pub(crate) struct Mask {
    /// Which secrets are looked for, as a list
    #[arg(long, value_name = "LIST", default_value = "0,1,2", value_parser = tiers)]
    tiers: Tiers,
    /// Say on standard error how often each rule found something
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    input: Input,
}

fn tiers(list: &str) -> Result<Tiers, String> {
    Tiers::parse(list).ok_or_else(|| "a list of the tiers 0, 1, 2 and 3, such as `0,1`".to_owned())
}

impl Mask {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let masker = masker(self.tiers)?;
        let mut stream = masker.stream();
        let mut masked = Vec::new();
        let result = self.input.each(&mut |bytes| {
            stream.push(bytes, &mut masked);
            out.write_all(&masked)?;
            masked.clear();
            // A reader of a pipe wants to see the text as it comes.
            out.flush().map_err(Failure::from)
        });
        stream.end(&mut masked);
        out.write_all(&masked)?;
        out.flush()?;
        if self.stats {
            stream.counts().for_each(|(rule, count)| say(format_args!("{count}\t{rule}")));
        }
        result
    }
}
