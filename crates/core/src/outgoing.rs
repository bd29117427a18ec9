//! The request that goes out: a conversation, a target and settings become bytes.

use crate::json::{Doc, Raw, Writer, at_path, merge};
use crate::policy::{self, Decision};
use crate::problem::{Problem, ProblemCode};
use crate::provider::{ModelRule, Target};
use crate::request::Request;
use crate::settings::{Budget, Effort, Key, Resolved};

/// A request, ready to be sent once a credential is on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The address.
    pub url: String,
    /// Headers beside those of the transport and the credential.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: String,
    /// Whether a stream is asked for.
    pub stream: bool,
    /// What was decided about each thought.
    pub decisions: Vec<Decision>,
    /// What the user should know.
    pub warnings: Vec<Problem>,
    /// What the wire cannot say and was left out.
    pub untranslated: Vec<String>,
}

/// Builds the request. A pure function: the same conversation, target and settings give the same bytes.
#[must_use]
pub fn build(request: &Request, target: &Target, settings: &Resolved) -> Outgoing {
    let applied = policy::apply(&request.contents, target, settings);
    let mut warnings = applied.warnings;
    let asks = asks(&target.rule, settings, request, &mut warnings);
    let mut request = Request { contents: applied.contents, ..request.clone() };
    request.model.clone_from(&target.model);
    request.max_tokens = asks.max_tokens.or(request.max_tokens);
    let written = target.wire.write_request(&request, &target.dialect);
    let body = asks.patches.iter().fold(written.body, |body, patch| patched(&body, patch));
    let stream = request.stream;
    Outgoing {
        url: target.url(stream),
        headers: target.headers.clone(),
        body,
        stream,
        decisions: applied.decisions,
        warnings,
        untranslated: written.untranslated,
    }
}

fn patched(body: &str, patch: &Raw) -> String {
    match Doc::parse_str(body) {
        Ok(doc) => merge(doc.root(), patch.doc().root()).as_str().to_owned(),
        // Wires write JSON; were one ever to fail, its own words go out unpatched.
        Err(_) => body.to_owned(),
    }
}

/// What the settings say to this model.
#[derive(Default)]
struct Asks {
    patches: Vec<Raw>,
    max_tokens: Option<u64>,
}

impl Asks {
    fn say(&mut self, patch: Option<&str>) {
        self.patches.extend(patch.and_then(|patch| Raw::parse(patch).ok()));
    }
}

fn asks(
    rule: &ModelRule,
    settings: &Resolved,
    request: &Request,
    warnings: &mut Vec<Problem>,
) -> Asks {
    let mut asks = Asks::default();
    let off = !settings.enabled.value || settings.effort.value == Some(Effort::None);
    // They also shape the answer (thoughts in a field of their own), so they go out whatever is sent back.
    asks.say(rule.contract.flags);
    if off {
        switch_off(rule, settings, &mut asks, warnings);
        return asks;
    }
    let effort = settings.effort.value;
    let budget = settings.max_tokens.value;
    let thinking = &rule.thinking;
    // First, because it may name an effort or a budget of its own, which the user's go before.
    if !thinking.default_on {
        asks.say(thinking.on);
    }
    if let Some(effort) = effort {
        match &thinking.effort {
            Some(form) => {
                if let Some(word) = form.word(effort) {
                    asks.patches.push(at_path(form.path, &Raw::string(word)));
                }
            }
            None => warn(warnings, Key::Effort, "has no way to be told an effort, so none is sent"),
        }
    }
    if let Some(Budget::Tokens(tokens)) = budget {
        cap(rule, tokens.get(), request, &mut asks, warnings);
    }
    if settings.include_in_response.value {
        asks.say(thinking.show);
    }
    asks
}

fn switch_off(rule: &ModelRule, settings: &Resolved, asks: &mut Asks, warnings: &mut Vec<Problem>) {
    let thinking = &rule.thinking;
    if thinking.off.is_some() {
        asks.say(thinking.off);
    } else if thinking.default_on {
        let key = if settings.enabled.value { Key::Effort } else { Key::Enabled };
        warn(warnings, key, "always thinks, so thinking cannot be switched off");
    }
}

fn cap(
    rule: &ModelRule,
    wanted: u64,
    request: &Request,
    asks: &mut Asks,
    warnings: &mut Vec<Problem>,
) {
    /// Room for the answer beside the thought, where the caller named no cap of its own.
    const ROOM: u64 = 8_192;
    let Some(form) = &rule.thinking.budget else {
        warn(warnings, Key::MaxTokens, "has no cap on thinking tokens, so none is sent");
        return;
    };
    let tokens = wanted.clamp(form.min, form.max.max(form.min));
    asks.patches.push(at_path(form.path, &Raw::build(|w: &mut Writer| w.u64(tokens))));
    asks.say(form.with);
    if form.below_max_tokens && request.max_tokens.is_none_or(|cap| cap <= tokens) {
        asks.max_tokens = Some(tokens.saturating_add(ROOM));
    }
}

fn warn(warnings: &mut Vec<Problem>, key: Key, what: &str) {
    let message = format!("`{}`: the model {what}", key.as_str());
    warnings.push(Problem::new(ProblemCode::Fallback, message));
}
