//! `think explain`: what a request would be, and why.

use super::asking::Asking;
use super::explain_vault::{Claim, Explained};
use crate::failure::Failure;
use crate::input::Input;
use crate::known;
use crate::printed::printed;
use clap::Args;
use std::io::Write;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::decision::Decision;
use thinkthrough_core::json::{Doc, Writer};
use thinkthrough_core::outgoing::{self, Outgoing};
use thinkthrough_core::provider::Target;
use thinkthrough_core::tokens::{EffectiveCount, TokenCount};
use thinkthrough_core::wire::{RequestError, Wire};

/// Show what would be sent to a model, and why
///
/// Reads a request body and prints the request that would go out: which thoughts are sent,
/// which are not, and the setting or contract that decided. No credential is in it and nothing
/// is sent. With a tenant, its thoughts are looked up as the gateway would, and what happens to
/// each answer's is said.
///
///   think explain -m deepseek/deepseek-v4 request.json
///   think explain -m kimi --tenant local request.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    #[command(flatten)]
    asking: Asking,
    /// The wire that the request is written for
    #[arg(long, value_name = "WIRE", value_parser = known::wires(), default_value = "chat-completions")]
    from: &'static dyn Wire,
    #[command(flatten)]
    claim: Claim,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: Input,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(self.explain(out))
    }

    async fn explain(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.asking.model.is_none() {
            let message = "`explain` needs a model; name one with `-m provider/model`";
            return Err(Failure::Usage(message.to_owned()));
        }
        let body = self.input.all()?;
        let config = self.asking.config()?;
        let chosen = self.asking.choose(&config).await?;
        let settings = self.asking.settings(&config, Some(&chosen))?;
        let doc = Doc::parse(&body).map_err(|error| {
            Failure::Failed(format!("the request is {error}; give a `{}` request", self.from.id()))
        })?;
        let read = |error: RequestError| {
            Failure::Failed(format!("the request is no `{}` request: {error}", self.from.id()))
        };
        let Explained { request, target } = match self.claim.vault(&config).await? {
            Some(vault) => {
                let restored = vault.explain(self.from, &doc, &chosen, &settings).await?;
                restored.map_err(read)?
            }
            None => {
                let request = self.from.read_request(doc.root()).map_err(read)?;
                let request = outgoing::build(&request, &chosen.target, &settings);
                Explained { request, target: chosen.target.clone() }
            }
        };
        let count = count(&request);
        if self.json {
            writeln!(out, "{}", printed(&as_json(&request, &target, count)))?;
            return Ok(());
        }
        as_text(&request, &target, count, out)
    }
}

/// The tokens of the request as it would be sent.
fn count(request: &Outgoing) -> TokenCount {
    let mut counter = EffectiveCount::new(Some(thinkthrough_tokenizer::o200k()));
    counter.of_body(&request.body).count
}

/// What becomes of each answer, where a vault was asked.
fn of_answers(request: &Outgoing) -> impl Iterator<Item = &Decision> {
    request.decisions.iter().filter(|decision| decision.block.is_none())
}

fn of_blocks(request: &Outgoing) -> impl Iterator<Item = (&Decision, usize)> {
    request.decisions.iter().filter_map(|decision| Some((decision, decision.block?)))
}

fn as_json(request: &Outgoing, target: &Target, count: TokenCount) -> String {
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("provider", &target.provider);
        w.field_str("wire", target.wire.id());
        w.field_str("url", &request.url);
        w.field_str("rule", &target.rule_source);
        w.key("body").raw_str(&request.body);
        w.key("tokens").object(|w| {
            w.field_u64("effective", count.tokens);
            match target.rule.context {
                0 => w.key("limit").null(),
                limit => w.field_u64("limit", limit),
            }
            w.field_str("source", count.source.as_str());
        });
        w.key("decisions").array(|w| {
            for (decision, _) in of_blocks(request) {
                w.object(|w| decision.write_members(w));
            }
        });
        w.key("answers").array(|w| {
            for answer in of_answers(request) {
                w.object(|w| answer.write_members(w));
            }
        });
        w.key("warnings").array(|w| {
            target.doubt().into_iter().for_each(|doubt| w.str(doubt));
            request.warnings.iter().for_each(|warning| w.str(&warning.message));
        });
        w.key("untranslated").array(|w| request.untranslated.iter().for_each(|it| w.str(it)));
    });
    w.finish()
}

fn as_text(
    request: &Outgoing,
    target: &Target,
    count: TokenCount,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    writeln!(out, "POST {}", request.url)?;
    writeln!(
        out,
        "provider {}, wire {}, rule {}",
        target.provider,
        target.wire.id(),
        target.rule_source
    )?;
    writeln!(out, "contract {}", target.rule.contract.summary())?;
    let limit = match target.rule.context {
        0 => "unknown".to_owned(),
        limit => limit.to_string(),
    };
    writeln!(out, "tokens {}/{limit} ({})", count.tokens, count.source.as_str())?;
    for answer in of_answers(request) {
        let (message, outcome) = (answer.message, answer.action.outcome());
        writeln!(out, "answer in message {message}: {outcome}, {}", harmless(&answer.reason))?;
    }
    for (decision, block) in of_blocks(request) {
        let message = decision.message;
        let (action, reason) = (decision.action.as_str(), harmless(&decision.reason));
        writeln!(
            out,
            "message {message}, block {block}: {action}, {reason} [{}]",
            decision.setting
        )?;
    }
    let doubt = target.doubt().map(str::to_owned);
    for warning in doubt.into_iter().chain(request.warnings.iter().map(|it| it.message.clone())) {
        writeln!(out, "warning: {}", harmless(&warning))?;
    }
    for lost in &request.untranslated {
        writeln!(out, "cannot be said on this wire: {}", harmless(lost))?;
    }
    writeln!(out, "\n{}", printed(&request.body))?;
    Ok(())
}
