//! The assertion that a Google service account signs to get a token.
//!
//! Source: <https://developers.google.com/identity/protocols/oauth2/service-account>

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

/// Every API of Google Cloud.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The longest life of an assertion, in seconds.
const LIFE: u64 = 3600;

/// The private key of a service account.
pub(super) struct Signer(Box<RsaKeyPair>);

impl Signer {
    /// Takes the key as the key file has it, in PEM.
    pub(super) fn new(pem: &str) -> Result<Self, String> {
        let bad = "`private_key` of the credential is no RSA key in PEM; copy the file again";
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| bad)?;
        let key = RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).map_err(|_| bad)?;
        Ok(Signer(Box::new(key)))
    }

    /// Says who asks, to whom and until when, and signs it.
    pub(super) fn assertion(
        &self,
        email: &str,
        key_id: Option<&str>,
        audience: &str,
        at: SystemTime,
    ) -> Option<String> {
        let now = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut head = json!({"alg": "RS256", "typ": "JWT"});
        if let (Some(head), Some(key_id)) = (head.as_object_mut(), key_id) {
            head.insert("kid".to_owned(), key_id.into());
        }
        let claims = json!({
            "iss": email, "scope": SCOPE, "aud": audience, "iat": now, "exp": now + LIFE,
        });
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let said = format!("{}.{}", part(head), part(claims));
        let mut signature = vec![0; self.0.public().modulus_len()];
        let random = SystemRandom::new();
        self.0.sign(&RSA_PKCS1_SHA256, &random, said.as_bytes(), &mut signature).ok()?;
        Some(format!("{said}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signer")
    }
}
