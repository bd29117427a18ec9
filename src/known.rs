//! Names on the command line that must be known: wires, providers, tag families.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use thinkthrough_core::provider::{self, Provider};
use thinkthrough_core::tags::TagSpec;
use thinkthrough_core::wire::{self, Wire};

/// A wire by its name. An unknown name is refused with the known ones.
pub(crate) fn wires() -> impl TypedValueParser<Value = &'static dyn Wire> {
    PossibleValuesParser::new(wire::ALL.iter().map(|wire| wire.id()))
        .try_map(|id| wire::find(&id).ok_or(Unlisted))
}

/// A provider by its name. An unknown name is refused with the known ones.
pub(crate) fn providers() -> impl TypedValueParser<Value = &'static Provider> {
    PossibleValuesParser::new(provider::ALL.iter().map(|provider| provider.id))
        .try_map(|id| provider::find(&id).ok_or(Unlisted))
}

/// A tag family by its name. An unknown name is refused with the known ones.
pub(crate) fn families() -> impl TypedValueParser<Value = TagSpec> {
    PossibleValuesParser::new(TagSpec::names())
        .try_map(|name| TagSpec::named(&name).ok_or(Unlisted))
}

/// A name that a list offers and its look-up does not know.
#[derive(Debug)]
struct Unlisted;

impl std::fmt::Display for Unlisted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name is listed but not known")
    }
}

impl std::error::Error for Unlisted {}
