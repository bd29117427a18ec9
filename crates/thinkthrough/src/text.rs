//! Thoughts between tags in a text, and secrets in it.
//!
//! Models without a field for thoughts write them between tags. [`split`] takes them out of a whole text, and a
//! [`TagScanner`] out of a stream. A family of tags has a name, such as `think` or `harmony`.
//!
//! ```
//! use thinkthrough::text::{SplitOptions, TagSpec, split};
//!
//! let family = TagSpec::named("think").unwrap();
//! let parts = split("<think>Fetch the balance.</think>It grew by 12.", &SplitOptions::new(family));
//! println!("{}", parts.to_json());
//! assert_eq!(parts.visible, "It grew by 12.");
//! ```
//!
//! A [`Masker`] puts placeholders in the place of keys, passwords and tokens; a [`MaskStream`] does so while a text
//! arrives.
//!
//! ```
//! use thinkthrough::text::{Masker, Tiers};
//!
//! let masker = Masker::new(Tiers::ALL, &[7; 32]);
//! let masked = masker.mask_text("postgres://app:Vq8rZ2mK7wPx@db.internal/orders");
//! println!("{masked}");
//! assert!(!masked.contains("Vq8rZ2mK7wPx"));
//! ```

pub use thinkthrough_core::tags::{
    BadTag, End, Options, Part, Parts, Piece, Reasoning, Redactor, Split, SplitOptions, Start,
    TagFilter, TagScanner, TagSpec, TextReader, recognised, redacted, redacted_json, split,
};
pub use thinkthrough_mask::{MaskStream, Masker, Tiers, mask_json, mask_request, passwords};
