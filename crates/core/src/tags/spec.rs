//! Selects the tags to search for.

use super::families::{CUSTOM, FAMILIES, HARMONY_STRIPPED};
use super::family::{Family, Role};
use std::fmt;

/// A family, or any other pair of tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSpec {
    pub(super) family: &'static Family,
    pub(super) custom: Option<(String, String)>,
}

impl TagSpec {
    /// The family of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let family = FAMILIES.iter().find(|family| family.name == name)?;
        Some(Self { family, custom: None })
    }

    /// A pair of tags that no family has.
    ///
    /// # Errors
    /// If one of them is empty.
    pub fn custom(open: &str, close: &str) -> Result<Self, BadTag> {
        if open.is_empty() || close.is_empty() {
            return Err(BadTag);
        }
        Ok(Self { family: &CUSTOM, custom: Some((open.to_owned(), close.to_owned())) })
    }

    /// The names that [`TagSpec::named`] knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FAMILIES.iter().map(|family| family.name)
    }

    /// The family's name; `custom` for a pair of the user's own.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.family.name
    }

    /// Harmony's channels without their special tokens.
    pub(super) fn stripped() -> Self {
        Self { family: &HARMONY_STRIPPED, custom: None }
    }

    /// The first marker that opens a thought, or closes one.
    pub(super) fn first(&self, role: Role) -> Option<&str> {
        if let Some((open, close)) = &self.custom {
            return Some(if role == Role::Open { open } else { close });
        }
        self.family.markers.iter().find(|marker| marker.role == role).map(|marker| marker.text)
    }

    /// Whether all thoughts are one block and all visible text is another.
    #[must_use]
    pub fn joined(&self) -> bool {
        self.family.joined
    }
}

/// A tag that is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadTag;

impl fmt::Display for BadTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tag must not be empty")
    }
}

impl std::error::Error for BadTag {}
