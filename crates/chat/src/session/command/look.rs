//! Commands that show thoughts and messages: `/thinking`, `/explain`, `/copy`.

use super::super::Session;
use super::super::message::{Count, Effect};
use super::{Word, only};
use crate::counted::{counts, tokens};
use crate::screen::model::Level;
use std::fmt::Write as _;
use thinkthrough_core::content::Content;
use thinkthrough_core::exchange::build;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Display, Key};
use thinkthrough_json::Doc;

pub(super) fn thinking(session: &mut Session, rest: &str) {
    match rest {
        "" => return session.toggle_thinking(),
        "save" => return session.keep_display(),
        _ => {}
    }
    let mut said = thinkthrough_core::settings::Partial::default();
    match said.set(Key::Display.as_str(), rest) {
        Ok(_) => session.set_display(said.display.unwrap_or(Display::Show)),
        Err(error) => session.notice(Level::Error, error.to_string()),
    }
}

pub(super) fn thinking_words(_: &Session, before: &[&str]) -> Vec<Word> {
    only(
        before,
        &[
            ("show", "in full"),
            ("collapsed", "one line that opens"),
            ("stream_only", "while they stream, then one line"),
            ("off", "a line while the model thinks, no text"),
            ("save", "keep it so in your configuration"),
        ],
    )
}

pub(super) fn mouse(session: &mut Session, rest: &str) {
    let is_taken = match rest {
        "" => !session.takes_mouse,
        "on" => true,
        "off" => false,
        other => {
            let text = format!("`/mouse {other}` is nothing; there are on, off");
            return session.notice(Level::Error, text);
        }
    };
    session.takes_mouse = is_taken;
    session.effect(Effect::Mouse(is_taken));
    let text = if is_taken {
        "the wheel scrolls and clicks open; `/mouse off` lets the terminal select text"
    } else {
        "the terminal selects text with the mouse; `/mouse on` takes the wheel and clicks back"
    };
    session.notice(Level::Info, text);
}

pub(super) fn toggle(session: &mut Session, rest: &str) {
    if rest == "thinking" {
        return session.toggle_thinking();
    }
    session.notice(Level::Error, format!("`{rest}` cannot be toggled; `/toggle thinking` can"));
}

pub(super) fn copy(session: &mut Session, rest: &str) {
    let wants_thought = match rest {
        "" | "answer" => false,
        "thought" => true,
        _ => {
            let text =
                format!("`/copy {rest}` is nothing; there are `/copy answer`, `/copy thought`");
            return session.notice(Level::Error, text);
        }
    };
    let is_hidden = wants_thought && !session.layers.resolve().include_in_response.value;
    match session.newest(wants_thought).filter(|text| !text.is_empty() && !is_hidden) {
        Some(text) => {
            session.say(format!("copied {} characters", text.chars().count()));
            session.effect(Effect::Copy(text));
        }
        None => {
            let what = if wants_thought { "thought" } else { "answer" };
            session.notice(Level::Error, format!("there is no {what} to copy"));
        }
    }
}

pub(super) fn explain(session: &mut Session, _: &str) {
    let Count { target, settings, contents, tools, .. } = session.request();
    let request = Request { contents, tools, stream: true, ..Request::default() };
    let built = build(&request, &target, &settings);
    let mut text = format!("`POST {}`\n\n", built.url);
    let _ = writeln!(
        text,
        "- wire **{}**, contract **{}** ({})",
        target.wire.id(),
        target.rule.contract.summary(),
        target.rule_source
    );
    let limit = session.model.limit().map_or_else(|| "unknown".to_owned(), |it| it.to_string());
    let count = session.count.map_or_else(
        || "being counted".to_owned(),
        |count| format!("{}/{limit} ({})", count.tokens, count.source),
    );
    let _ = writeln!(text, "- tokens **{count}**\n- messages **{}**", request.contents.len());
    let parameters = parameters(&built);
    let said = if parameters.is_empty() { "nothing".to_owned() } else { parameters.join(", ") };
    let _ = writeln!(text, "- said about thinking and the answer: {said}");
    explain_thoughts(&request.contents, &built, &mut text);
    if let Some(doubt) = target.doubt() {
        let _ = writeln!(text, "- warning: {doubt}");
    }
    for warning in &built.warnings {
        let _ = writeln!(text, "- warning: {}", warning.message);
    }
    for lost in &built.untranslated {
        let _ = writeln!(text, "- cannot be said on this wire: {lost}");
    }
    session.show_page("What would be sent", text);
}

fn explain_thoughts(contents: &[Content], built: &Outgoing, text: &mut String) {
    text.push_str("\n## Thoughts\n\n");
    if built.decisions.is_empty() {
        text.push_str("There are none yet.\n");
        return;
    }
    let of_blocks = built.decisions.iter().filter_map(|it| Some((it, it.block?)));
    for (decision, block) in of_blocks {
        let counted = contents.get(decision.message).map(counts).unwrap_or_default();
        let count = counted.get(block).copied().flatten();
        let tokens = count.map_or_else(|| "without a text".to_owned(), tokens);
        let _ = writeln!(
            text,
            "- message {}, block {}: **{}**, {tokens}: {} [{}]",
            decision.message,
            block,
            decision.action.as_str(),
            decision.reason,
            decision.setting
        );
    }
    text.push('\n');
}

/// The parameters of a request body, without the messages and tools.
fn parameters(built: &Outgoing) -> Vec<String> {
    const BULK: [&str; 8] = [
        "model",
        "messages",
        "input",
        "contents",
        "tools",
        "system",
        "systemInstruction",
        "stream",
    ];
    let Ok(doc) = Doc::parse_str(&built.body) else { return Vec::new() };
    doc.root()
        .entries()
        .filter(|(key, value)| !BULK.contains(&key.as_ref()) && !value.is_array())
        .map(|(key, value)| format!("`{key}: {}`", value.raw()))
        .collect()
}

impl Session {
    /// Shows the parameters of the next request.
    pub(super) fn tell_parameters(&mut self) {
        let Count { target, settings, .. } = self.request();
        let request = Request { stream: true, ..Request::default() };
        let built = build(&request, &target, &settings);
        let parameters = parameters(&built);
        let said = if parameters.is_empty() { "nothing".to_owned() } else { parameters.join(", ") };
        let mut text = format!("sent to {}: {said}", self.model.name);
        for warning in &built.warnings {
            let _ = write!(text, "; {}", warning.message);
        }
        self.notice(Level::Info, text);
    }
}
