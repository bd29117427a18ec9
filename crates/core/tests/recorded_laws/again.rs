//! What is written of an answer is read as the same answer.

use crate::bodies::Body;
use crate::run::{Run, streamed, whole};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Other, Text, Thinking};
use thinkthrough_core::event::{Event, Fold, Tee};
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_json::{Raw, Val};

pub(crate) fn check(body: &Body) {
    let Some((answer, written)) = written_as_stream(body) else { return };
    // An error stands alone: it is written by `write_error`, for which other tests stand.
    if answer.upstream_error().is_some() {
        return;
    }
    let again = streamed(body.wire, [written.as_slice()]);
    same(body, Form::Stream, &again, &answer);
    if answer.is_complete() {
        let mut fold = Fold::new();
        whole(body.wire, body.wire.write_response(&answer).as_bytes(), &mut fold);
        same(body, Form::Whole, &fold.finish(), &answer);
    }
}

/// The form that an answer was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Stream,
    Whole,
}

fn same(body: &Body, form: Form, again: &Answer, answer: &Answer) {
    let is_other_form = body.is_stream != (form == Form::Stream);
    if is_other_form && is_cited(body, answer) {
        println!(
            "{body}: {form:?}: cited text is compared as text, which is what it is in streams"
        );
        let as_text = |answer: &Answer| shown(&cited_as_text(answer));
        assert_eq!(as_text(again), as_text(answer), "{body}: {form:?}");
    } else if form == Form::Whole && thinks_late(body, answer) {
        println!(
            "{body}: {form:?}: the fields of a message cannot say that a thought came behind a text"
        );
        assert_eq!(unordered(again), unordered(answer), "{body}: {form:?}");
    } else if form == Form::Whole && body.is_stream && body.wire.id() == "responses" {
        // A whole answer has no event around it: what stood beside it in the last event stands in it.
        assert_eq!(shown(&inside(again)), shown(&inside(answer)), "{body}: {form:?}");
    } else {
        assert_eq!(shown(again), shown(answer), "{body}: {form:?}");
    }
}

/// The answer, and the stream that the encoder makes of its events.
pub(crate) fn written_as_stream(body: &Body) -> Option<(Answer, Vec<u8>)> {
    let (mut fold, mut encoder, mut written) = (Fold::new(), body.wire.encoder(), Vec::new());
    let mut encode = |event: Event<'_>| encoder.event(event, &mut written);
    let mut both = Tee(&mut fold, &mut encode);
    if body.is_stream {
        let mut run = Run::new(body.wire);
        run.push(&body.bytes, &mut both);
        run.end(&mut both);
    } else if body.bytes.is_empty() {
        return None;
    } else {
        whole(body.wire, &body.bytes, &mut both);
    }
    encoder.end(&mut written);
    Some((fold.finish(), written))
}

/// Cited text is text in streams of `converse`, and a block of its own in whole responses.
fn is_cited(body: &Body, answer: &Answer) -> bool {
    body.wire.id() == "converse" && shown(answer).contains("citation")
}

/// The answer with its blocks of cited text as the text that a stream makes of them.
fn cited_as_text(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    for block in &mut answer.blocks {
        let Block::Other(Other { wire, kind, raw, .. }) = block else { continue };
        let doc = raw.doc();
        let Some(cited) = doc.root().get(kind).filter(|_| kind == "citationsContent") else {
            continue;
        };
        let texts = cited.get("content").into_iter().flat_map(Val::items);
        let mut text = Text::new(texts.filter_map(|it| it.string("text")).collect::<String>());
        text.extra.insert(wire, "citations", Raw::from(cited.get("citations").unwrap()));
        *block = Block::Text(text);
    }
    answer
}

/// The answer with what stood beside it among its own fields.
fn inside(answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    let notes = std::mem::take(&mut answer.extra.notes);
    for (name, value) in notes {
        if name == "choice" {
            let members = value.doc();
            let of_event = members.root().entries();
            answer.extra.fields.extend(of_event.map(|(key, it)| (key.into_owned(), Raw::from(it))));
        } else {
            answer.extra.notes.push((name, value));
        }
    }
    answer
}

/// Whether a thought stands behind a text where thoughts have fields of their own beside the text's: only a stream has an
/// order between fields.
fn thinks_late(body: &Body, answer: &Answer) -> bool {
    let has_fields = matches!(body.wire.id(), "chat-completions" | "mistral-chat");
    let is_text = |block: &Block| matches!(block, Block::Text(_));
    let in_field =
        |block: &Block| matches!(block, Block::Thinking(it) if it.source_field != "thinking");
    has_fields && answer.blocks.iter().skip_while(|block| !is_text(block)).any(in_field)
}

/// An answer without what no encoder is to say: findings about the bytes that were read, fields of thoughts that are
/// `null`, and the white space between values of kept JSON, which would end lines of a stream.
fn shown(answer: &Answer) -> String {
    let mut answer = answer.clone();
    answer.problems.retain(|problem| {
        matches!(
            problem.code,
            ProblemCode::UpstreamError | ProblemCode::Truncated | ProblemCode::CapReached
        )
    });
    for block in &mut answer.blocks {
        let Block::Thinking(Thinking { extra, .. }) = block else { continue };
        extra.fields.retain(|(_, value)| value.as_str() != "null");
        extra.wire = extra.wire.filter(|_| !extra.fields.is_empty());
    }
    format!("{answer:?}").split_whitespace().collect()
}

/// The same as a whole chat message has it: the thoughts of one field joined, the text joined, everything else in
/// order, and the thoughts before the rest.
fn unordered(answer: &Answer) -> String {
    let mut answer = answer.clone();
    let mut blocks: Vec<Block> = Vec::new();
    let text = answer.text();
    let is_thinking = |block: &Block| matches!(block, Block::Thinking(_));
    let (thoughts, rest): (Vec<Block>, Vec<Block>) =
        std::mem::take(&mut answer.blocks).into_iter().partition(is_thinking);
    for thought in thoughts {
        match (blocks.last_mut(), &thought) {
            (Some(Block::Thinking(last)), Block::Thinking(next))
                if last.source_field == next.source_field
                    && next.detail_type.is_none()
                    && next.source_field != "thinking" =>
            {
                last.thought = format!("{}\n{}", last.thought, next.thought);
            }
            _ => blocks.push(thought),
        }
    }
    blocks.extend(rest.into_iter().filter(|block| !matches!(block, Block::Text(_))));
    answer.blocks = blocks;
    text + &shown(&answer)
}
