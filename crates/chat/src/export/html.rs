//! Conversations as one page of HTML.

use super::Exported;
use super::page::{ELEMENT_STYLE, POLICY, SCRIPT, SCRIPT_HASH, STYLE};
use crate::counted::{counts, tokens, withheld};
use crate::wording::grouped;
use pulldown_cmark::{Event, Options, Parser, Tag, html};
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Speaker, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::tokens::TokenCount;

/// The conversation as one self-contained page that loads nothing, with the thoughts folded.
///
/// Each thought is an element with `data-ai-reasoning`, `data-collapsed` and `data-token-est`, its button has
/// `data-ai-reasoning-toggle`, and a click sends the event `svmai:event` from there up to the window, with the number
/// that is shown. Text of a model cannot become markup: HTML in it is shown as text, and links lead to the web or to
/// mail only.
#[must_use]
pub fn to_html(exported: &Exported) -> String {
    let mut page = html_opening(exported.title.as_deref().unwrap_or("Conversation"));
    for (number, content) in exported.contents.iter().enumerate() {
        page.push_str(&message(number, content, None));
    }
    page.push_str(&html_closing());
    page
}

/// The beginning of a page, for pages that are written piece by piece.
#[must_use]
pub fn html_opening(title: &str) -> String {
    let title = escaped(title);
    let policy = POLICY.replace("HASH", SCRIPT_HASH);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{title}</title>\n<style>{STYLE}{ELEMENT_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
    )
}

/// The end of a page.
#[must_use]
pub fn html_closing() -> String {
    format!("<script type=\"module\">{SCRIPT}</script>\n</body>\n</html>\n")
}

/// A message of a page, after its facts. `count` is the count of its thought, if it is known.
#[must_use]
pub fn html_message(
    number: usize,
    facts: &[(&str, String)],
    content: &Content,
    count: Option<TokenCount>,
) -> String {
    let mut page = "<p class=\"note\">".to_owned();
    for (name, value) in facts {
        page.push_str(&format!("{}: {}<br>\n", escaped(name), escaped(value)));
    }
    page.push_str("</p>\n");
    page.push_str(&message(number, content, count));
    page
}

fn message(number: usize, content: &Content, count: Option<TokenCount>) -> String {
    let (name, class) = match content.speaker {
        Speaker::Ai => ("Model", "ai"),
        Speaker::Human => ("You", "human"),
        Speaker::System => ("System", "system"),
        Speaker::Tool => ("Tool", "tool-message"),
    };
    let id = format!("m{number}");
    let counted = counts(content);
    let mut out = format!("<section class=\"{class}\" id=\"{id}\">\n<h2>{name}</h2>\n");
    for (at, block) in content.blocks.iter().enumerate() {
        out.push_str(&match block {
            Block::Text(text) => rendered(&text.text),
            Block::Thinking(thinking) => {
                let by = content.origin.as_ref().map(|origin| origin.provider.as_str());
                let count = count.or_else(|| counted.get(at).copied().flatten());
                thought((&id, at), (thinking, by), count)
            }
            Block::ToolCall(call) => tool_call(call),
            Block::ToolResponse(response) => tool_response(response),
            Block::Media(media) => picture(media),
            Block::Other(other) => folded(&other.kind, other.raw.as_str()),
        });
    }
    if let Some(count) = withheld(content) {
        let text = format!(
            "<p class=\"note\">Thought, {}: the provider withheld the text.</p>\n",
            tokens(count)
        );
        out.push_str(&text);
    }
    if content.partial {
        out.push_str("<p class=\"note\">The answer broke off here.</p>\n");
    }
    out.push_str("</section>\n");
    out
}

fn thought(
    (message, at): (&str, usize),
    (thinking, by): (&Thinking, Option<&str>),
    count: Option<TokenCount>,
) -> String {
    // The number that all other surfaces show, else a quarter of the letters, as the element counts.
    let estimate = || thinking.thought.trim().encode_utf16().count().div_ceil(4) as u64;
    let tokens = count.map_or_else(estimate, |count| count.tokens);
    let plural = if tokens == 1 { "" } else { "s" };
    let mut marks = format!("data-token-est=\"{tokens}\" data-msg-id=\"{message}\"");
    let named = if thinking.is_withheld() {
        let bytes = sealed(thinking);
        let by = by.map(escaped);
        marks.push_str(&format!(" data-sealed-bytes=\"{bytes}\""));
        if let Some(by) = &by {
            marks.push_str(&format!(" data-provider=\"{by}\""));
        }
        let by = by.map(|by| format!(", by {by}")).unwrap_or_default();
        format!("Sealed, {} bytes{by}", grouped(bytes))
    } else {
        let named = match thinking.duration_ms {
            Some(ms) => format!("Thought for {} s", (ms + 500) / 1000),
            None => "Thought".to_owned(),
        };
        marks.push_str(&format!(" data-label=\"{named}\""));
        named
    };
    let text = escaped(&thinking.thought);
    let effort = thinking.effort.as_deref();
    let effort = effort.map_or_else(String::new, |it| format!(" · effort {}", escaped(it)));
    let id = format!("{message}-thought{at}");
    format!(
        "<ai-reasoning data-ai-reasoning data-collapsed=\"true\" {marks}>\n\
         <button type=\"button\" data-ai-reasoning-toggle aria-expanded=\"false\" aria-controls=\"{id}\">{named} · {} token{plural}{effort}</button>\n\
         <div data-ai-reasoning-content id=\"{id}\" hidden=\"until-found\">{text}</div>\n</ai-reasoning>\n",
        grouped(tokens)
    )
}

/// The number of bytes that only the provider can read.
fn sealed(thinking: &Thinking) -> u64 {
    let parts = [&thinking.signature, &thinking.redacted_data, &thinking.encrypted_content];
    parts.into_iter().flatten().map(|part| part.len() as u64).sum()
}

fn tool_call(call: &ToolCall) -> String {
    folded(&format!("Calls {}", call.name), call.parameters.as_text())
}

fn tool_response(response: &ToolResponse) -> String {
    let name = response.name.as_deref().unwrap_or("tool");
    let title = format!("{name} {}", if response.is_error { "failed" } else { "gave" });
    folded(&title, &response.result.text())
}

fn folded(title: &str, body: &str) -> String {
    let (title, body) = (escaped(title), escaped(body));
    format!("<details class=\"tool\"><summary>{title}</summary>\n<pre>{body}</pre>\n</details>\n")
}

/// An embedded picture is shown. A picture elsewhere is only named, because the page loads nothing.
fn picture(media: &Media) -> String {
    let kind = escaped(&media.media_type);
    match &media.source {
        MediaSource::Data(data) if is_picture(&media.media_type) => {
            let data = escaped(data);
            format!("<p><img alt=\"{kind}\" src=\"data:{kind};base64,{data}\"></p>\n")
        }
        MediaSource::Data(data) => {
            format!("<p class=\"note\">{kind}, {} characters of base64</p>\n", data.len())
        }
        MediaSource::Url(url) => format!("<p class=\"note\">{kind} {}</p>\n", escaped(url)),
    }
}

/// Formats that cannot carry a script.
fn is_picture(media_type: &str) -> bool {
    ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(&media_type)
}

/// Markdown as HTML. HTML in it becomes text, and links that could run a script are removed.
fn rendered(markdown: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(markdown, options).map(|event| match event {
        Event::Html(html) | Event::InlineHtml(html) => Event::Text(html),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = if is_harmless(&dest_url) { dest_url } else { "#".into() };
            Event::Start(Tag::Link { link_type, dest_url, title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            // The policy blocks pictures from elsewhere. The picture's description is still shown.
            let is_inline = dest_url.starts_with("data:image/");
            let dest_url = if is_inline { dest_url } else { "data:,".into() };
            Event::Start(Tag::Image { link_type, dest_url, title, id })
        }
        other => other,
    });
    let mut out = String::with_capacity(markdown.len() * 5 / 4);
    html::push_html(&mut out, events);
    out
}

fn is_harmless(url: &str) -> bool {
    ["https://", "http://", "mailto:", "#"].iter().any(|start| {
        url.get(..start.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(start))
    })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\0' => out.push('\u{fffd}'),
            _ => out.push(sign),
        }
    }
    out
}
