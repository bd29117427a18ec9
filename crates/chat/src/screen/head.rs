//! First lines: the kind of a thought or a tool call, and its progress.

use std::time::Duration;

use super::ink::{Ink, Tone};
use super::model::{Thought, ThoughtState, Tool, ToolState};
use super::rows::Line;
use crate::counted::tokens;
use crate::wording::grouped;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A turning sign for running work.
pub(super) fn spinner(now: Duration) -> &'static str {
    let step = now.as_millis() / 100 % 10;
    usize::try_from(step).ok().and_then(|step| SPINNER.get(step)).copied().unwrap_or("⠋")
}

/// The mark in front of a thought's first line.
pub(super) fn thought_mark(thought: &Thought, is_open: bool, now: Duration) -> &'static str {
    match thought.state {
        ThoughtState::Live => spinner(now),
        _ if thought.text.is_empty() => "·",
        _ if is_open => "▾",
        _ => "▸",
    }
}

/// `Thought for 12 s, 1,240 tokens`. Unknown values are left out.
pub(super) fn thought_line(thought: &Thought, now: Duration) -> String {
    let mut line = match thought.state {
        ThoughtState::Absent => "No thought",
        ThoughtState::Live => "Thinking",
        ThoughtState::Done | ThoughtState::Partial | ThoughtState::Withheld => "Thought",
    }
    .to_owned();
    if let Some(elapsed) = thought.elapsed(now) {
        line.push_str(" for ");
        line.push_str(&duration(elapsed));
    }
    if let Some(count) = thought.tokens {
        line.push_str(", ");
        line.push_str(&tokens(count));
    }
    if let Some(effort) = &thought.effort {
        line.push_str(", effort ");
        line.push_str(effort);
    }
    match thought.state {
        ThoughtState::Absent | ThoughtState::Done | ThoughtState::Live => {}
        ThoughtState::Partial => line.push_str(" (broken off)"),
        ThoughtState::Withheld => line.push_str(". The provider withheld the text."),
    }
    line
}

/// The mark in front of a tool call's first line, and its tone.
pub(super) fn tool_mark(tool: &Tool, now: Duration) -> (&'static str, Tone) {
    match tool.state {
        ToolState::Denied => ("⊘", Tone::Warning),
        ToolState::Error => ("✗", Tone::Failure),
        ToolState::Ok => ("✓", Tone::Success),
        ToolState::Running => (spinner(now), Tone::Accent),
        ToolState::Waiting => ("?", Tone::Warning),
    }
}

/// The first line of a tool call.
pub(super) fn tool_line(tool: &Tool) -> Line {
    let mut line = Line::of(&tool.name, Ink::of(Tone::Text).bold());
    if !tool.summary.is_empty() {
        line.push(" ", Tone::Text);
        line.push(&tool.summary, Tone::Dim);
    }
    let note = match (tool.state, tool.spent) {
        (ToolState::Waiting, _) => ", waiting for you".to_owned(),
        (_, Some(spent)) if spent >= Duration::from_secs(1) => format!(", {}", duration(spent)),
        _ => String::new(),
    };
    line.push(&note, Tone::Dim);
    line
}

/// The result of a folded tool call: its first line, and the number of lines.
pub(super) fn result_line(tool: &Tool) -> Line {
    let mut line = Line::of("└ ", Tone::Border);
    let first = tool.result().lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let tone = match tool.state {
        ToolState::Error => Tone::Failure,
        ToolState::Denied => Tone::Warning,
        ToolState::Ok | ToolState::Running | ToolState::Waiting => Tone::Dim,
    };
    if tool.lines() > 1 {
        line.push(&format!("{} lines: ", grouped(tool.lines() as u64)), Tone::Dim);
    }
    let first =
        if first.is_empty() && tool.state == ToolState::Denied { "not allowed" } else { first };
    // Text wider than the screen would be laid out in vain.
    let cut = first.char_indices().nth(400).map_or(first.len(), |(at, _)| at);
    line.push(first.get(..cut).unwrap_or_default().trim(), tone);
    line
}

/// A duration as people say it: `12 s`, `3 min 5 s`, `1 h 2 min`.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => "under 1 s".to_owned(),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::tokens::TokenCount;

    #[track_caller]
    fn check(spent: Option<u64>, tokens: Option<TokenCount>, state: ThoughtState, want: &str) {
        let mut thought = Thought::stored("", state, spent.map(Duration::from_secs));
        thought.tokens = tokens;
        assert_eq!(thought_line(&thought, Duration::ZERO), want);
    }

    #[test]
    fn thoughts_say_their_time_and_tokens() {
        use ThoughtState::{Absent, Done, Live, Partial, Withheld};
        let reported = Some(TokenCount::reported(1240));
        check(Some(12), reported, Done, "Thought for 12 s, 1,240 tokens");
        check(Some(12), reported, Live, "Thinking for 12 s, 1,240 tokens");
        check(
            Some(65),
            Some(TokenCount::estimated(1)),
            Done,
            "Thought for 1 min 5 s, about 1 token",
        );
        check(None, None, Done, "Thought");
        check(None, reported, Partial, "Thought, 1,240 tokens (broken off)");
        check(Some(3720), None, Withheld, "Thought for 1 h 2 min. The provider withheld the text.");
        check(Some(0), None, Done, "Thought for under 1 s");
        check(None, None, Absent, "No thought");
    }
}
