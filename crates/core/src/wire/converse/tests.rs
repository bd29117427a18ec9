//! Tests of this wire; recorded traffic is tested for all wires together.

mod answers;
mod request;

use super::Converse;
use crate::wire::{ErrorBody, Framing, Wire};

#[test]
fn the_model_stands_in_the_path() {
    assert_eq!(
        Converse.path("us.anthropic.claude-haiku-4-5-20251001-v1:0", false),
        "/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/converse"
    );
    assert_eq!(
        Converse.path("arn:aws:bedrock:eu-west-1:1:inference-profile/x", true),
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A1%3Ainference-profile%2Fx/converse-stream"
    );
    assert_eq!((Converse.id(), Converse.framing()), ("converse", Framing::EventStream));
}

#[test]
fn errors_have_a_type_that_clients_know() {
    let write = |status: u16| {
        Converse.write_error(&ErrorBody { status, code: "c".into(), message: "m".into() })
    };
    assert_eq!(write(400), r#"{"message":"m","__type":"ValidationException","reason":"c"}"#);
    assert!(write(429).contains("ThrottlingException"));
    assert!(write(502).contains("InternalServerException"));
}
