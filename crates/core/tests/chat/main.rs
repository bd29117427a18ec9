//! The wires `chat-completions` and `mistral-chat` over recorded traffic and over fixtures.

mod corpus;
mod reading;
