//! The owner of records.

use std::fmt;

/// The owner of records: a name, never a credential. Two tenants share nothing.
///
/// A credential cannot become a name by accident: a gateway key has a name of its own, and a credential that only
/// passes through is represented by a keyed digest ([`Tenant::digest`]).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Box<str>);

/// Why a text is no tenant's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantError {
    /// It is empty, longer than 128 bytes, or has control characters or white space at an end.
    Malformed,
    /// It begins like the names of credentials, or is the name of local callers.
    Reserved,
}

impl Tenant {
    const LOCAL: &'static str = "local";
    /// Names that people choose never begin with this prefix.
    const DIGEST: &'static str = "credential:";

    /// Callers on this machine that have no key.
    #[must_use]
    pub fn local() -> Self {
        Tenant(Tenant::LOCAL.into())
    }

    /// The owner of the gateway key of this name.
    ///
    /// # Errors
    /// When the name is empty, too long, not printable, or reserved.
    pub fn named(name: &str) -> Result<Self, TenantError> {
        if name == Tenant::LOCAL || name.starts_with(Tenant::DIGEST) {
            return Err(TenantError::Reserved);
        }
        Tenant::stored(name)
    }

    /// The bearer of the credential with this keyed digest, at one upstream endpoint. The digest's key must be the
    /// installation's own secret, or the name would reveal the credential to everyone who can guess it.
    #[must_use]
    pub fn digest(digest: &[u8; 32]) -> Self {
        use fmt::Write as _;
        let mut name = Tenant::DIGEST.to_owned();
        for byte in digest {
            // Writing into a string cannot fail.
            let _ = write!(name, "{byte:02x}");
        }
        Tenant(name.into())
    }

    /// Whether the tenant is a credential, which anyone may have made up, instead of a configured name.
    #[must_use]
    pub fn is_credential(&self) -> bool {
        self.0.starts_with(Tenant::DIGEST)
    }

    /// The tenant of this name as [`Tenant::as_str`] gave it, read back from a store or given by an operator.
    ///
    /// # Errors
    /// When it can be no tenant's name.
    pub fn stored(name: &str) -> Result<Self, TenantError> {
        let is_plain = !name.chars().any(char::is_control) && name.trim() == name;
        if name.is_empty() || name.len() > 128 || !is_plain {
            return Err(TenantError::Malformed);
        }
        Ok(Tenant(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows only the name, the whole content.
impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for TenantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TenantError::Malformed => {
                "a tenant's name has 1 to 128 printable characters and no white space at its ends"
            }
            TenantError::Reserved => {
                "`local` and names that begin with `credential:` are taken; choose another name"
            }
        })
    }
}

impl std::error::Error for TenantError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_printable_and_never_collide_with_ours() {
        for (name, expected) in [
            ("alice", Ok("alice")),
            ("Team Ä", Ok("Team Ä")),
            ("", Err(TenantError::Malformed)),
            (" alice", Err(TenantError::Malformed)),
            ("a\nb", Err(TenantError::Malformed)),
            ("local", Err(TenantError::Reserved)),
            ("credential:00", Err(TenantError::Reserved)),
        ] {
            let named = Tenant::named(name);
            assert_eq!(named.as_ref().map(Tenant::as_str).map_err(|e| *e), expected, "{name:?}");
        }
        assert_eq!(Tenant::named(&"x".repeat(129)), Err(TenantError::Malformed));
    }

    #[test]
    fn a_stored_name_is_the_same_tenant() {
        for tenant in [Tenant::local(), Tenant::digest(&[0xA5; 32])] {
            assert_eq!(Tenant::stored(tenant.as_str()), Ok(tenant));
        }
        assert!(Tenant::digest(&[0xA5; 32]).as_str().starts_with("credential:a5a5"));
        assert!(Tenant::digest(&[0xA5; 32]).is_credential() && !Tenant::local().is_credential());
    }
}
