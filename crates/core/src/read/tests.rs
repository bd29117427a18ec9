//! Bodies of every form, whole and cut.

use super::*;
use crate::answer::Answer;
use crate::event::Fold;

fn read(wire: &'static dyn Wire, form: Form, body: &str) -> Answer {
    let (mut reader, mut fold) = (Reader::new(wire, &Dialect::PLAIN, form), Fold::new());
    reader.push(body.as_bytes(), &mut fold);
    reader.end(&mut fold);
    fold.finish()
}

#[test]
fn b_3_a_body_that_is_no_answer_is_a_problem_on_every_wire() {
    for wire in wire::ALL {
        let member = wire.answer_members().first().unwrap();
        let hollow = format!("{{\"{member}\":[]}}");
        let empty = format!("{{\"{member}\":[{{}}]}}");
        let odd = ["{\"status\":\"ok\"}", "{\"message\":\"no\"}", "{\"message\":{}}", &empty];
        for body in odd.into_iter().chain(["{\"x\":1}", "[]", "\"ok\"", "{}", "7", "null", &hollow])
        {
            for form in [Form::Auto, Form::Stream, Form::Whole] {
                let answer = read(*wire, form, body);
                assert!(!answer.is_complete(), "{} {form:?} {body}: {answer:?}", wire.id());
                assert_eq!(answer.text(), "", "{body}");
            }
        }
        // In a stream, too.
        for body in ["data: {\"x\":1}\n\n", "data: {\"x\":1}\n\ndata: [DONE]\n\n"] {
            let answer = read(*wire, Form::Stream, body);
            assert!(!answer.is_complete(), "{} {body}: {answer:?}", wire.id());
        }
    }
}

#[test]
fn b_3_a_text_in_place_of_an_event_stream_is_called_one() {
    let wire = wire::find("converse").unwrap();
    for form in [Form::Auto, Form::Stream, Form::Whole] {
        let answer = read(wire, form, "Hello, this is a proxy.");
        let problem = answer.problems.first().unwrap();
        let expected = "the response is neither JSON nor an event stream";
        assert_eq!((problem.message.as_str(), answer.is_complete()), (expected, false));
    }
}

#[test]
fn b_5_content_that_is_an_object_is_text_or_a_problem_on_every_wire() {
    let text = "{\"type\":\"text\",\"text\":\"x\"}";
    let odd = "{\"odd\":\"x\"}";
    for (wire, body) in [
        ("chat-completions", r#"{"choices":[{"finish_reason":"stop","message":{"content":#}}]}"#),
        ("mistral-chat", r#"{"choices":[{"finish_reason":"stop","message":{"content":#}}]}"#),
        ("messages", r#"{"type":"message","content":#,"stop_reason":"end_turn"}"#),
        ("cohere-chat", r#"{"message":{"content":#},"finish_reason":"COMPLETE"}"#),
        ("ollama-chat", r#"{"message":{"content":#},"done":true,"done_reason":"stop"}"#),
        (
            "responses",
            r#"{"status":"completed","output":[{"type":"message","id":"m","content":#}]}"#,
        ),
        ("converse", r#"{"output":{"message":{"content":#}},"stopReason":"end_turn"}"#),
        ("generate-content", r#"{"candidates":[{"content":{"parts":#},"finishReason":"STOP"}]}"#),
    ] {
        let wire = wire::find(wire).unwrap();
        for content in [text, odd] {
            let answer = read(wire, Form::Whole, &body.replace('#', content));
            let is_told = answer.text() == "x" || !answer.problems.is_empty();
            let is_kept = !answer.blocks.is_empty();
            assert!(is_told || is_kept, "{} {content}: {answer:?}", wire.id());
        }
    }
}

#[test]
fn b_2_an_array_where_events_were_asked_for_is_read_element_by_element() {
    let wire = wire::find("generate-content").unwrap();
    let chunk = |text: &str, more: &str| {
        format!(
            "{{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"{text}\"}}]}}{more}}}]}}"
        )
    };
    let body = format!("[{},\r\n{}\n]", chunk("a", ""), chunk("b", ",\"finishReason\":1"));
    let whole = read(wire, Form::Auto, &body);
    assert_eq!((whole.text().as_str(), whole.finish_reason.as_deref()), ("ab", Some("STOP")));
    for cut in 0..body.len() {
        let (mut reader, mut fold) =
            (Reader::new(wire, &Dialect::PLAIN, Form::Stream), Fold::new());
        let (head, tail) = body.split_at(cut);
        reader.push(head.as_bytes(), &mut fold);
        if cut == 1 + chunk("a", "").len() {
            assert_eq!(fold.so_far().text(), "a", "the first element comes at once");
        }
        reader.push(tail.as_bytes(), &mut fold);
        assert!(reader.end(&mut fold));
        assert_eq!(fold.finish(), whole, "{cut}");
    }
    let cut = body.len() - 4;
    assert!(!read(wire, Form::Stream, body.get(..cut).unwrap()).is_complete());
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_body_wherever_it_is_cut() {
    let wire = wire::find("chat-completions").unwrap();
    for (body, form) in [
        ("\u{feff}data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n", Form::Stream),
        ("\u{feff}{\"choices\":[{\"message\":{\"content\":\"Hi\"}}]}", Form::Auto),
    ] {
        for cut in 0..body.len() {
            let (mut reader, mut fold) = (Reader::new(wire, &Dialect::PLAIN, form), Fold::new());
            let (head, tail) = body.as_bytes().split_at(cut);
            reader.push(head, &mut fold);
            reader.push(tail, &mut fold);
            assert!(reader.end(&mut fold), "{cut} {body}");
            assert_eq!(fold.finish().text(), "Hi", "{cut} {body}");
        }
    }
}
#[test]
fn bytes_that_are_no_utf_8_are_told_once_in_every_form() {
    let wire = wire::find("chat-completions").unwrap();
    let event = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xff\"}}]}\n\n";
    let whole = b"{\"choices\":[{\"message\":{\"content\":\"a\xffa\xff\"}}]}";
    for body in [event.repeat(2), whole.to_vec()] {
        for cut in 0..body.len() {
            let (mut reader, mut fold) =
                (Reader::new(wire, &Dialect::PLAIN, Form::Auto), Fold::new());
            let (head, tail) = body.split_at(cut);
            reader.push(head, &mut fold);
            reader.push(tail, &mut fold);
            assert!(reader.end(&mut fold), "{cut}");
            let answer = fold.finish();
            assert_eq!(answer.text(), "a\u{fffd}a\u{fffd}", "{cut}");
            let told = |it: &&Problem| it.code == ProblemCode::Malformed;
            assert_eq!(answer.problems.iter().filter(told).count(), 1, "{cut}");
        }
    }
}
