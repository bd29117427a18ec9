//! The environment variables that a command of the model must not see.

use thinkthrough_core::provider;

/// Words that a secret's name contains.
const WORDS: [&str; 9] = [
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "CREDENTIAL",
    "PASSWD",
    "PASSWORD",
    "PRIVATE_KEY",
    "SECRET",
    "TOKEN",
];

/// Whether a variable's name is a provider's key, or has a word for secrets in it.
pub(crate) fn speaks_of_secrets(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    provider::ALL.iter().any(|provider| provider.keys.contains(&name))
        || WORDS.iter().any(|word| upper.contains(word))
        || upper.ends_with("_KEY")
}

#[cfg(test)]
mod tests {
    use super::speaks_of_secrets;

    #[test]
    fn keys_of_providers_and_secrets_are_known_by_their_names() {
        for name in ["OPENAI_API_KEY", "MOONSHOT_API_KEY", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY"] {
            assert!(speaks_of_secrets(name), "{name}");
        }
        for name in ["db_password", "HF_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS", "MASTER_KEY"] {
            assert!(speaks_of_secrets(name), "{name}");
        }
        for name in ["PATH", "HOME", "SHELL", "LANG", "CARGO_HOME", "KEYBOARD", "SSH_AUTH_SOCK"] {
            assert!(!speaks_of_secrets(name), "{name}");
        }
    }
}
