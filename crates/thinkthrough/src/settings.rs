//! The settings `reasoning.*`: whether and how much a model thinks, and which thoughts go back.
//!
//! Each setting has layers, from the built-in value to the request's own; [`resolve`] finds the value that holds, with
//! its [`Source`].
//!
//! ```
//! use thinkthrough::settings::{Effort, Key, Layer, Partial, Source, resolve};
//!
//! let mut values = Partial::default();
//! values.set("reasoning.effort", "high").unwrap();
//! let resolved = resolve(&[Layer { source: Source::Session, values }]);
//! assert_eq!(resolved.effort.value, Some(Effort::High));
//! println!("{:?}", resolved.get(Key::Effort));
//! ```

pub use thinkthrough_core::settings::{
    Budget, Display, Effort, Efforts, Format, Include, Key, Layer, Partial, Resolved, Setting,
    SettingError, Source, Strip, resolve,
};
