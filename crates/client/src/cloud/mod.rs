//! Accounts of clouds: credentials that are more than one string.
//!
//! [`read`] takes them as the clouds' own tools write them, in JSON. Amazon's sign each request; the others are
//! exchanged for a short-lived token, which is fetched over the same transport when a request needs it.

mod aws;
mod gcp;
mod tokens;

pub use aws::AwsKeys;
pub use tokens::Tokens;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::secret::{Auth, Secret};
use gcp::Signer;
use tokens::Grant;

/// Google's token endpoint, unless the credential names another one.
const GCP: &str = "https://oauth2.googleapis.com/token";
/// Azure's token endpoint, unless the credential names another one.
const ENTRA: &str = "https://login.microsoftonline.com";
/// The scope of an Azure token, unless the credential names another one.
/// Source: <https://learn.microsoft.com/azure/ai-foundry/openai/how-to/managed-identity>
const ENTRA_SCOPE: &str = "https://cognitiveservices.azure.com/.default";

/// Reads the credential of a cloud's account; `None` for a plain key.
///
/// Supports Amazon's keys as `aws configure export-credentials` prints them (`AccessKeyId`, `SecretAccessKey`,
/// `SessionToken`, and `Region` if the address does not contain it), Google's key file of a service account or the
/// file of `gcloud auth application-default login`, and Azure's `clientId`, `clientSecret` and `tenantId`.
///
/// # Errors
///
/// Returns a sentence that names the missing or wrong part, without any text of the credential.
#[must_use]
pub fn read(credential: &Secret) -> Option<Result<Auth, String>> {
    let text = credential.expose();
    if !text.starts_with('{') {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(text) else {
        return Some(Err("the credential begins as JSON and is none; copy it again".to_owned()));
    };
    Some(Fields(&fields).auth())
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn auth(&self) -> Result<Auth, String> {
        if self.0.contains_key("AccessKeyId") {
            return Ok(Auth::Aws(Arc::new(self.aws()?)));
        }
        let grant = match self.text("type") {
            Some("service_account") => self.service_account()?,
            Some("authorized_user") => self.user()?,
            Some(other) => {
                return Err(format!(
                    "credentials of the type `{other}` are not known; take a `service_account` or an `authorized_user`"
                ));
            }
            None if self.0.contains_key("clientId") => self.entra()?,
            None => {
                return Err("the credential is JSON of no known form; take a key, or what Amazon's, Google's or \
                            Azure's own tools write"
                    .to_owned());
            }
        };
        Ok(Auth::Token(Arc::new(Tokens::new(grant))))
    }

    fn aws(&self) -> Result<AwsKeys, String> {
        Ok(AwsKeys::new(
            self.needed("AccessKeyId")?,
            self.secret("SecretAccessKey")?,
            self.text("SessionToken").map(Secret::new),
            self.text("Region"),
        ))
    }

    fn service_account(&self) -> Result<Grant, String> {
        let signer = Signer::new(self.needed("private_key")?)?;
        Ok(Grant::Signed {
            url: self.text("token_uri").unwrap_or(GCP).to_owned(),
            email: self.needed("client_email")?.to_owned(),
            key_id: self.text("private_key_id").map(str::to_owned),
            signer,
        })
    }

    fn user(&self) -> Result<Grant, String> {
        Ok(Grant::Form {
            url: self.text("token_uri").unwrap_or(GCP).to_owned(),
            who: self.needed("client_id")?.to_owned(),
            fields: vec![
                ("grant_type", Secret::new("refresh_token")),
                ("client_id", self.secret("client_id")?),
                ("client_secret", self.secret("client_secret")?),
                ("refresh_token", self.secret("refresh_token")?),
            ],
        })
    }

    fn entra(&self) -> Result<Grant, String> {
        let (client, tenant) = (self.needed("clientId")?, self.needed("tenantId")?);
        let place = self.text("activeDirectoryEndpointUrl").unwrap_or(ENTRA).trim_end_matches('/');
        Ok(Grant::Form {
            url: format!("{place}/{tenant}/oauth2/v2.0/token"),
            who: format!("{tenant}/{client}"),
            fields: vec![
                ("grant_type", Secret::new("client_credentials")),
                ("client_id", Secret::new(client)),
                ("client_secret", self.secret("clientSecret")?),
                ("scope", Secret::new(self.text("scope").unwrap_or(ENTRA_SCOPE))),
            ],
        })
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    fn needed(&self, name: &str) -> Result<&str, String> {
        self.text(name).ok_or_else(|| format!("the credential lacks `{name}`"))
    }

    fn secret(&self, name: &str) -> Result<Secret, String> {
        self.needed(name).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(credential: &Value) -> String {
        read(&Secret::new(credential.to_string())).unwrap().unwrap_err()
    }

    #[test]
    fn a_plain_key_is_no_account() {
        assert!(read(&Secret::new("sk-1")).is_none());
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_repeated() {
        assert!(problem(&json!({"AccessKeyId": "AKIA-canary"})).contains("`SecretAccessKey`"));
        let half = json!({"type": "service_account", "client_email": "a@canary"});
        assert_eq!(problem(&half), "the credential lacks `private_key`");
        let broken =
            json!({"type": "service_account", "private_key": "canary", "client_email": "a"});
        assert!(!problem(&broken).contains("canary"), "{}", problem(&broken));
        assert!(problem(&json!({"clientId": "c", "tenantId": "t"})).contains("`clientSecret`"));
        assert!(problem(&json!({"type": "external_account"})).contains("`external_account`"));
        assert!(problem(&json!({"key": "canary"})).contains("no known form"));
        let torn = read(&Secret::new("{\"AccessKeyId\": \"canary")).unwrap().unwrap_err();
        assert!(!torn.contains("canary"), "{torn}");
    }

    #[test]
    fn accounts_print_nothing_of_themselves() {
        for credential in [
            json!({"AccessKeyId": "AKIA", "SecretAccessKey": "canary", "SessionToken": "canary"}),
            json!({"clientId": "c", "tenantId": "t", "clientSecret": "canary"}),
            json!({"type": "authorized_user", "client_id": "c", "client_secret": "canary", "refresh_token": "canary"}),
        ] {
            let auth = read(&Secret::new(credential.to_string())).unwrap().unwrap();
            assert!(!format!("{auth:?} {auth:#?}").contains("canary"), "{auth:?}");
        }
    }
}
