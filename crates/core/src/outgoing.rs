//! The outgoing request: turns a conversation, a target and settings into bytes.

mod fitting;
mod forced;
mod off;
mod parameters;

pub(crate) use fitting::fitting;
pub(crate) use forced::{CONFLICT, Choice, THINKING, choice};
pub(crate) use off::{can_only_be_asked, without_contradiction, without_member};
pub(crate) use parameters::Parameters;

use crate::bookkeeping;
use crate::content::{Content, Speaker};
use crate::decide::{Applied, Repair};
use crate::decision::Decision;
use crate::edit::Draft;
use crate::edit::list::{ListEdit, member, set_member};
use crate::json::{Doc, Raw, Val, Writer, at_path, fill, merge};
use crate::problem::Problem;
use crate::provider::Target;
use crate::request::{Request, ToolChoice};
use crate::settings::Resolved;
use crate::wire::{budget_below, foreign};
use std::borrow::Cow;

/// A request that lacks only its credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The address.
    pub url: String,
    /// Headers, except those of the transport and the credential.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: String,
    /// Whether the request asks for a stream.
    pub stream: bool,
    /// The decisions about its thoughts.
    pub decisions: Vec<Decision>,
    /// Warnings for the user.
    pub warnings: Vec<Problem>,
    /// Names of the parts that the wire cannot express.
    pub untranslated: Vec<String>,
    /// The parameters that differ from the request, because the model accepts no nearer value.
    pub adapted: Vec<&'static str>,
}

/// The name of an answer's text in `untranslated=`.
pub(crate) const TEXT: &str = "text";

pub(crate) fn write(
    request: &Request,
    applied: Applied<'_>,
    target: &Target,
    settings: &Resolved,
) -> Outgoing {
    let mut request = request.with_contents(for_house(applied.contents, target).into_owned());
    let is_own = request.reasoning.fields.wire == Some(target.wire.id());
    let choice = choice(&request, target, settings, is_own);
    let mut asks = parameters::adapt(&request, target, settings, is_own);
    parameters::settle(&mut request, target, settings, is_own);
    match choice {
        Choice::Automatic => {
            request.tool_choice = Some(ToolChoice::Auto);
            asks.adapted(
                "tool_choice",
                "only chooses by itself while it thinks, so the choice is its own",
            );
        }
        Choice::Conflict => asks.warn("tool_choice", CONFLICT),
        Choice::Stays | Choice::ThinkingOff => {}
    }
    request.model.clone_from(&target.model);
    request.max_tokens = asks.max_tokens.or(request.max_tokens);
    let written = target.wire.write_request(&request, &target.dialect);
    let body = merged(written.body, &asks.patches);
    let body = asks.fill.iter().fold(body, |body, patch| patched(&body, patch, fill));
    let body = dressed(&body, target).unwrap_or(body);
    let stream = request.stream;
    let mut untranslated = written.untranslated;
    for name in foreign::of_request(&request, target.wire.id()) {
        if !untranslated.contains(&name) {
            untranslated.push(name);
        }
    }
    let mut warnings = applied.warnings;
    warnings.extend(asks.warnings);
    Outgoing {
        url: target.url(stream),
        headers: target.headers.clone(),
        body,
        stream,
        decisions: applied.decisions,
        warnings,
        untranslated,
        adapted: asks.adapted,
    }
}

/// Removes bookkeeping lines of clients unless the provider reads them.
fn for_house<'c>(contents: Cow<'c, [Content]>, target: &Target) -> Cow<'c, [Content]> {
    if target.dialect.reads_bookkeeping {
        return contents;
    }
    let mut contents = bookkeeping::in_place(contents);
    let is_left = |it: &Content| it.speaker != Speaker::System || !it.blocks.is_empty();
    if !contents.iter().all(is_left) {
        contents.to_mut().retain(is_left);
    }
    contents
}

/// The parameters that settings add to a caller's own body.
pub(crate) fn said(request: &Request, target: &Target, settings: &Resolved) -> Parameters {
    let mut asks = parameters::adapt(request, target, settings, true);
    if let Some(tokens) = asks.max_tokens {
        let own = target.dialect.max_tokens_field.or(target.wire.caps().first().copied());
        let name = own.unwrap_or("max_tokens");
        asks.patches.push(at_path(name, &Raw::build(|w: &mut Writer| w.u64(tokens))));
    }
    asks
}

/// Lowers the caps on the answer to `tokens`, or adds a cap. On Messages, a cap on the thought that is no longer below
/// the new cap is lowered as well. Returns `None` if the body needs no change.
pub(crate) fn at_most(body: &str, target: &Target, tokens: u64) -> Option<String> {
    const THOUGHT: &str = "thinking.budget_tokens";
    let doc = Doc::parse_str(body).ok()?;
    let (root, all) = (doc.root(), target.wire.caps());
    let is_said = |path: &&&str| root.dotted(path).is_some();
    let is_fine = |path: &str| {
        root.dotted(path).and_then(Val::as_u64).is_some_and(|cap| cap > 0 && cap <= tokens)
    };
    let mut paths: Vec<&str> = all.iter().filter(is_said).copied().collect();
    if paths.is_empty() {
        let has_place =
            |path: &&&str| path.split_once('.').is_none_or(|(place, _)| root.some(place).is_some());
        let own = target.dialect.max_tokens_field.or(all.iter().find(has_place).copied());
        paths.extend(own.or(all.first().copied()));
    }
    paths.retain(|path| !is_fine(path));
    let number = |tokens: u64| Raw::build(|w: &mut Writer| w.u64(tokens));
    let mut patches: Vec<Raw> = paths.iter().map(|path| at_path(path, &number(tokens))).collect();
    let thought = root.dotted(THOUGHT).and_then(Val::as_u64).filter(|own| *own >= tokens);
    if let Some(own) = thought.filter(|_| target.wire.id() == "messages") {
        patches.push(at_path(THOUGHT, &number(budget_below(own, tokens))));
    }
    (!patches.is_empty()).then(|| merged_in(body.to_owned(), &patches))
}

/// Merges JSON objects into a body, which is written anew.
fn merged(body: String, patches: &[Raw]) -> String {
    patches.iter().fold(body, |body, patch| patched(&body, patch, merge))
}

/// Merges JSON objects into a caller's body. Other members keep their bytes.
pub(crate) fn merged_in(body: String, patches: &[Raw]) -> String {
    patches.iter().fold(body, |body, patch| {
        let edited = edited(&body, patch.doc().root());
        edited.unwrap_or_else(|| patched(&body, patch, merge))
    })
}

fn edited(body: &str, patch: Val<'_>) -> Option<String> {
    let doc = Doc::parse_str(body).ok()?;
    let mut draft = Draft::new();
    for (key, new) in patch.entries() {
        let old = doc.root().get(&key).filter(|old| old.is_object() && new.is_object());
        let value = old.map(|old| merge(old, new));
        let value = value.as_ref().map_or(new.raw(), Raw::as_str);
        set_member(&mut draft, doc.root(), &key, value);
    }
    let plan = draft.finish(body.len()).ok()?;
    String::from_utf8(plan.apply(body.as_bytes()).into_owned()).ok()
}

/// Removes the question for usage from a body, if the server's refusal names it or names nothing. Returns `None` if the
/// body has no such question, or if the refusal is about thoughts or another member of the body.
#[must_use]
pub fn without_usage(body: &[u8], refusal: &[u8]) -> Option<Vec<u8>> {
    const QUESTION: &str = "stream_options";
    let refusal = String::from_utf8_lossy(refusal);
    let is_named = [QUESTION, "include_usage"].iter().any(|name| refusal.contains(name));
    let doc = Doc::parse(body).ok()?;
    let is_of_other = |(key, _): (Cow<'_, str>, Val<'_>)| key.len() > 3 && refusal.contains(&*key);
    let names_other = doc.root().entries().any(is_of_other) || Repair::names_history(&refusal);
    if !is_named && names_other {
        return None;
    }
    Some(without_member(doc.text(), QUESTION)?.into_bytes())
}

/// Changes a body into the form of the platform that hosts the target's API. Unchanged members keep their bytes.
/// Returns `None` if the body needs no change.
#[must_use]
pub fn dressed(body: &str, target: &Target) -> Option<String> {
    let (name, version) = target.dialect.hosted?.version;
    let doc = Doc::parse_str(body).ok()?;
    let root = doc.root();
    let mut members = ListEdit::of(root);
    for (index, (key, _)) in root.entries().enumerate() {
        if key == "model" {
            members.remove(index);
        }
    }
    if root.get(name).is_none() {
        members.insert(0, member(name, Raw::string(version).as_str()));
    }
    let mut draft = Draft::new();
    members.finish(&mut draft);
    let plan = draft.finish(body.len()).ok().filter(|plan| !plan.is_empty())?;
    String::from_utf8(plan.apply(body.as_bytes()).into_owned()).ok()
}

/// Merges the headers of a caller's request with the target's own. The caller's value wins, but lists of beta features
/// are joined.
#[must_use]
pub fn merged_headers(
    own: &[(String, String)],
    callers: &[(String, String)],
) -> Vec<(String, String)> {
    let mut merged = callers.to_vec();
    for (name, value) in own {
        match merged.iter_mut().find(|(key, _)| key.eq_ignore_ascii_case(name)) {
            Some((_, said)) if name.to_ascii_lowercase().ends_with("-beta") => {
                let items = |list: &str| -> Vec<String> {
                    let items = list.split(',').map(str::trim).filter(|item| !item.is_empty());
                    items.map(str::to_owned).collect()
                };
                let mut list = items(said);
                for item in items(value) {
                    if !list.contains(&item) {
                        list.push(item);
                    }
                }
                *said = list.join(",");
            }
            Some(_) => {}
            None => merged.push((name.clone(), value.clone())),
        }
    }
    merged
}

fn patched(body: &str, patch: &Raw, how: fn(Val<'_>, Val<'_>) -> Raw) -> String {
    match Doc::parse_str(body) {
        Ok(doc) => how(doc.root(), patch.doc().root()).as_str().to_owned(),
        // Wires write valid JSON. If one ever fails, its text goes out unpatched.
        Err(_) => body.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn without_the_question_for_usage_a_body_stays_as_it_is() {
        let asks = br#"{"model":"m","stream_options":{"include_usage":true},"n":1e400}"#;
        let without = br#"{"model":"m","n":1e400}"#;
        let refusal = br#"{"detail":[{"loc":["body","stream_options"],"msg":"extra fields"}]}"#;
        assert_eq!(without_usage(asks, refusal).as_deref(), Some(&without[..]));
        assert_eq!(without_usage(without, refusal), None);
        assert_eq!(without_usage(asks, b"Bad request").as_deref(), Some(&without[..]));
        for other in ["The model is not known", "reasoning_content is missing"] {
            assert_eq!(without_usage(asks, other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn on_anothers_platform_the_address_has_the_model_and_the_body_a_version() {
        let target = Target::built_in("vertexai", Some("messages"), "claude-opus-5").unwrap();
        for (body, expected) in [
            (
                r#"{ "model" : "m", "n": 1e400,"stream":true }"#,
                r#"{"anthropic_version":"vertex-2023-10-16", "n": 1e400,"stream":true }"#,
            ),
            (
                r#"{"n":{"model":"x"},"model":"m"}"#,
                r#"{"anthropic_version":"vertex-2023-10-16","n":{"model":"x"}}"#,
            ),
            (r#"{"model":"m"}"#, r#"{"anthropic_version":"vertex-2023-10-16"}"#),
            (r#"{"anthropic_version":"v","model":"m"}"#, r#"{"anthropic_version":"v"}"#),
        ] {
            let dressed = dressed(body, &target).unwrap();
            assert_eq!(dressed, expected);
            assert_eq!(super::dressed(&dressed, &target), None, "it is right already");
        }
        let own = Target::built_in("anthropic", None, "claude-opus-5").unwrap();
        assert_eq!(dressed(r#"{"model":"m"}"#, &own), None);
    }

    #[test]
    fn beta_features_of_both_sides_are_asked_for_once() {
        let own = headers(&[("x-beta", "b, c"), ("x-version", "2"), ("x-new", "n")]);
        let callers = headers(&[("X-Beta", "a,b"), ("x-version", "1")]);
        let expected = headers(&[("X-Beta", "a,b,c"), ("x-version", "1"), ("x-new", "n")]);
        assert_eq!(merged_headers(&own, &callers), expected);
        assert_eq!(merged_headers(&own, &[]), own);
    }
}
