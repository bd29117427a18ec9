//! Wires: the formats of requests, answers and streams, and translation between them.
//!
//! ```
//! use thinkthrough::json::Doc;
//! use thinkthrough::wire::{Dialect, find};
//!
//! let body = r#"{"model":"m","messages":[{"role":"user","content":"Hello"}],"max_tokens":100}"#;
//! let (from, to) = (find("chat-completions").unwrap(), find("messages").unwrap());
//! let request = from.read_request(Doc::parse_str(body).unwrap().root()).unwrap();
//! let written = to.write_request(&request, &Dialect::PLAIN);
//! println!("{}", written.body);
//! assert!(written.untranslated.is_empty(), "nothing was lost");
//! ```

pub use thinkthrough_core::convert::{
    Converted, StreamConverter, request as convert_request, response as convert_response,
};
pub use thinkthrough_core::wire::headers::Headers;
pub use thinkthrough_core::wire::resource::Resources;
pub use thinkthrough_core::wire::{
    Decode, Dialect, Encode, ErrorBody, Framing, Hosted, RequestError, UnknownWire, Wire, WireId,
    Written, find,
};
