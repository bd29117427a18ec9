//! The tenants of callers that use the upstream's own credential.

use crate::store::Store;
use thinkthrough_core::plane::Tenant;

/// Dummy keys that clients send to servers without keys: their own defaults, and examples of guides.
const DUMMIES: [&str; 18] = [
    "anything",
    "api-key",
    "apikey",
    "changeme",
    "dummy-key",
    "fake-key",
    "lm-studio",
    "no-api-key",
    "no-key-needed",
    "no-key-required",
    "not-needed",
    "not-required",
    "placeholder",
    "sk-no-key-required",
    "token-abc123",
    "your-api-key",
    "your_api_key",
    "your_api_key_here",
];

/// Texts with fewer letters and digits are not secret (`EMPTY`, `ollama`, `none`, `sk-1234`).
const SHORTEST: usize = 9;

impl Store {
    /// The tenant of a caller with this credential at this upstream. `None` if the credential does not identify the
    /// caller: it is empty, a dummy for a server without keys, or a token that changes every hour.
    ///
    /// The name is a digest under a key of this installation. It does not reveal the credential, or whether two
    /// installations see the same one.
    #[must_use]
    pub fn pass_through_tenant(&self, endpoint: &str, credential: &str) -> Option<Tenant> {
        let credential = credential.trim();
        if stands_for_nobody(credential) || is_short_lived(credential) {
            return None;
        }
        let mut digest = blake3::Hasher::new_keyed(self.install_key().bytes());
        for part in [endpoint.trim_end_matches('/'), credential] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        Some(Tenant::digest(digest.finalize().as_bytes()))
    }
}

/// Whether a credential counts as none, because clients send it to servers without keys.
#[must_use]
pub fn stands_for_nobody(credential: &str) -> bool {
    let lower = credential.trim().to_ascii_lowercase();
    let body = lower.strip_prefix("sk-").unwrap_or(&lower);
    let mut letters = body.bytes().filter(u8::is_ascii_alphanumeric);
    let first = letters.next();
    let is_varied = letters.clone().any(|letter| Some(letter) != first);
    let is_long = letters.count() + 1 >= SHORTEST;
    !is_long || !is_varied || DUMMIES.contains(&lower.as_str())
}

/// Whether a token is renewed every hour or so: signed claims, and tokens of a cloud's OAuth server. Each would
/// become a tenant of its own.
fn is_short_lived(credential: &str) -> bool {
    let is_claims = credential.starts_with("eyJ") && credential.matches('.').count() == 2;
    is_claims || credential.starts_with("ya29.")
}

#[cfg(test)]
mod tests {
    use super::{is_short_lived, stands_for_nobody};

    #[test]
    fn dummies_stand_for_nobody_and_tokens_of_an_hour_for_no_tenant() {
        for none in [
            "",
            "x",
            "EMPTY",
            "ollama",
            "none",
            "sk-x",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "XXXXXXXXXXXX",
            "sk-1234",
            "lm-studio",
            "not-needed",
            "Your-API-Key",
            "sk-no-key-required",
            "token-abc123",
            "------------",
        ] {
            assert!(stands_for_nobody(none), "{none}");
        }
        for passing in ["eyJhbGciOi.eyJzdWIi.c2ln", "ya29.a0AfH6SMBx12345678"] {
            assert!(is_short_lived(passing) && !stands_for_nobody(passing), "{passing}");
        }
        for one in ["sk-proj-4f9aB2c81d", "gsk_12345678ab", "AIzaSyA1b2c3d4e5", "0123456789abcdef"]
        {
            assert!(!stands_for_nobody(one) && !is_short_lived(one), "{one}");
        }
    }
}
