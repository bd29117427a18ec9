//! The masker of this process: what it was given in secret is registered.

use crate::failure::Failure;
use thinkthrough_core::mask::{Masker, Tiers};

/// What the names of variables with secrets end in.
const SECRET: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// A masker with a key drawn for this run, that knows the secrets in the environment.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn masker(tiers: Tiers) -> Result<Masker, Failure> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| {
        Failure::Failed(format!("the system has no random numbers: {error}; try again later"))
    })?;
    Ok(keyed(tiers, &key))
}

/// A masker with this key, that knows the secrets in the environment.
pub(crate) fn keyed(tiers: Tiers, key: &[u8; 32]) -> Masker {
    let mut masker = Masker::new(tiers, key);
    for (name, value) in std::env::vars_os() {
        if let (Some(name), Some(value)) = (name.to_str(), value.to_str())
            && SECRET.iter().any(|end| name.to_ascii_uppercase().ends_with(end))
        {
            masker.register(value);
        }
    }
    masker
}
