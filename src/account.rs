//! Credentials for providers: a key in the form that the endpoint takes, or a cloud's account.

use crate::environment::{Lookup, usable};
use crate::failure::Failure;
use http::HeaderName;
use thinkthrough_client::{Auth, Secret, account};
use thinkthrough_core::provider::{Account, Auth as AuthForm};
use thinkthrough_json::Writer;

/// How a key, or the credential of an account in JSON, goes with a request.
pub(crate) fn auth(form: AuthForm, key: Option<Secret>) -> Result<Auth, Failure> {
    let Some(secret) = key else { return Ok(Auth::None) };
    if let Some(account) = account::read(&secret) {
        return account.map_err(Failure::Failed);
    }
    Ok(match form {
        // Local servers need no key; a configured key travels in the usual way.
        AuthForm::Bearer | AuthForm::None => Auth::Bearer(secret),
        AuthForm::Header(name) => {
            let bad = |_| Failure::Failed(format!("`{name}` is no header name"));
            Auth::Header { name: HeaderName::try_from(name).map_err(bad)?, secret }
        }
        AuthForm::Query(name) => Auth::Query { name: name.to_owned(), secret },
    })
}

/// The variable that names an account of this kind.
pub(crate) fn variable(account: Account) -> &'static str {
    match account {
        Account::Aws => "AWS_ACCESS_KEY_ID",
        Account::Entra => "AZURE_CLIENT_SECRET",
        Account::Gcp => "GOOGLE_APPLICATION_CREDENTIALS",
    }
}

/// Reads the account in the environment, from the variables of the cloud's own tools; `None` if there is no account.
pub(crate) fn in_environment(account: Account, env: Lookup<'_>) -> Result<Option<Secret>, Failure> {
    let first = variable(account);
    let Some(value) = usable(env(first)) else { return Ok(None) };
    let needed = |name: &str| {
        let missing =
            || Failure::Failed(format!("`{first}` is set, but `{name}` is not; set both"));
        usable(env(name)).ok_or_else(missing)
    };
    let optional = |name: &str| usable(env(name));
    let fields = match account {
        Account::Aws => vec![
            ("AccessKeyId", Some(value)),
            ("SecretAccessKey", Some(needed("AWS_SECRET_ACCESS_KEY")?)),
            ("SessionToken", optional("AWS_SESSION_TOKEN")),
            ("Region", optional("AWS_REGION").or_else(|| optional("AWS_DEFAULT_REGION"))),
        ],
        Account::Entra => vec![
            ("clientSecret", Some(value)),
            ("clientId", Some(needed("AZURE_CLIENT_ID")?)),
            ("tenantId", Some(needed("AZURE_TENANT_ID")?)),
            ("activeDirectoryEndpointUrl", optional("AZURE_AUTHORITY_HOST")),
        ],
        Account::Gcp => return file(first, &value).map(Some),
    };
    let mut w = Writer::new();
    w.object(|w| {
        for (name, value) in &fields {
            w.opt_str(name, value.as_deref());
        }
    });
    Ok(Some(Secret::new(w.finish())))
}

/// The credential in a file that a variable names.
fn file(variable: &str, path: &str) -> Result<Secret, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::Failed(format!(
            "`{variable}` names the file `{path}`, which cannot be read: {error}; correct the variable"
        ))
    })?;
    Ok(Secret::new(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(account: Account, variables: &[(&str, &str)]) -> Result<Option<Secret>, Failure> {
        let env = |name: &str| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        };
        in_environment(account, &env)
    }

    #[test]
    fn what_clouds_tools_set_is_an_account() {
        assert!(of(Account::Aws, &[]).unwrap().is_none());
        let keys = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let secret = of(Account::Aws, &keys).unwrap();
        let Auth::Aws(aws) = auth(AuthForm::Bearer, secret).unwrap() else { panic!("no account") };
        assert_eq!(aws.who(), "AKID");
        let entra =
            [("AZURE_CLIENT_SECRET", "s"), ("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t")];
        let secret = of(Account::Entra, &entra).unwrap();
        let Auth::Token(tokens) = auth(AuthForm::Header("api-key"), secret).unwrap() else {
            panic!("no account")
        };
        assert_eq!(tokens.who(), "t/c");
    }

    #[test]
    fn half_an_account_is_an_error_that_names_the_other_half() {
        let half = of(Account::Aws, &[("AWS_ACCESS_KEY_ID", "AKID")]).unwrap_err().to_string();
        assert!(half.contains("`AWS_SECRET_ACCESS_KEY` is not"), "{half}");
        let lost = of(Account::Gcp, &[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")]);
        let lost = lost.unwrap_err().to_string();
        assert!(lost.contains("`/nowhere.json`, which cannot be read"), "{lost}");
    }
}
