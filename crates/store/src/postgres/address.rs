//! The address of a server, with its TLS options.

use super::tls::{Check, Tls};
use crate::error::StoreError;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The allowed values of `sslmode`.
const MODES: &str = "disable, prefer, require, verify-ca, verify-full";

/// Parses an address into the driver's configuration and the TLS settings.
pub(super) fn read(url: &str, at: &str) -> Result<(Config, Tls), StoreError> {
    let refuse = |message: String| StoreError::Database { at: at.to_owned(), message };
    let (plain, said) = split(url);
    let mut config: Config = plain.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        refuse(cause.unwrap_or_else(|| error.to_string()))
    })?;
    let (mode, check) = match said.mode.as_deref() {
        // On this machine the connection cannot be intercepted.
        None if is_here(&config) => (SslMode::Disable, Check::None),
        None | Some("prefer") => (SslMode::Prefer, Check::None),
        Some("disable") => (SslMode::Disable, Check::None),
        // As in PostgreSQL's own clients: a named authority must have signed the certificate.
        Some("require") if said.authorities.is_some() => (SslMode::Require, Check::Authority),
        Some("require") => (SslMode::Require, Check::None),
        Some("verify-ca") => (SslMode::Require, Check::Authority),
        Some("verify-full") => (SslMode::Require, Check::Full),
        Some(other) => {
            return Err(refuse(format!("`sslmode` cannot be `{other}`; allowed: {MODES}")));
        }
    };
    config.ssl_mode(mode);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(Duration::from_secs(5));
    }
    config.application_name("thinkthrough");
    Ok((config, Tls::new(check, said.authorities.as_ref())?))
}

/// The TLS options of an address.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    mode: Option<String>,
    authorities: Option<PathBuf>,
}

/// Splits off the options that the driver does not know.
fn split(url: &str) -> (String, Said) {
    let mut said = Said::default();
    let Some((plain, query)) = url.split_once('?') else { return (url.to_owned(), said) };
    let rest = query.split('&').filter(|pair| match pair.split_once('=') {
        Some(("sslmode", mode)) => {
            said.mode = Some(mode.to_owned());
            false
        }
        Some(("sslrootcert", file)) => {
            said.authorities = Some(PathBuf::from(decoded(file)));
            false
        }
        Some(_) | None => !pair.is_empty(),
    });
    let rest: Vec<&str> = rest.collect();
    let plain =
        if rest.is_empty() { plain.to_owned() } else { format!("{plain}?{}", rest.join("&")) };
    (plain, said)
}

/// Decodes `%2F` and the like.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = behind.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = behind;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether all hosts are this machine.
fn is_here(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_about_tls_is_taken_out() {
        let said = |mode: Option<&str>, file: Option<&str>| Said {
            mode: mode.map(str::to_owned),
            authorities: file.map(PathBuf::from),
        };
        for (url, plain, expected) in [
            ("postgres://h/d", "postgres://h/d", said(None, None)),
            ("postgres://h/d?sslmode=require", "postgres://h/d", said(Some("require"), None)),
            (
                "postgres://h/d?a=b&sslmode=verify-full&sslrootcert=%2Fca%20x.pem&c=d",
                "postgres://h/d?a=b&c=d",
                said(Some("verify-full"), Some("/ca x.pem")),
            ),
            ("postgres://h/d?sslrootcert=a%zz%2", "postgres://h/d", said(None, Some("a%zz%2"))),
        ] {
            assert_eq!(split(url), (plain.to_owned(), expected), "{url}");
        }
    }

    #[test]
    fn nobody_is_asked_for_tls_on_this_machine_unless_the_address_says_so() {
        let mode = |url: &str| read(url, "there").map(|(config, _)| config.get_ssl_mode());
        for (url, expected) in [
            ("postgres://127.0.0.1/d", SslMode::Disable),
            ("postgres://localhost/d", SslMode::Disable),
            ("postgres://[::1]/d", SslMode::Disable),
            ("postgres://db.example/d", SslMode::Prefer),
            ("postgres://127.0.0.1/d?sslmode=require", SslMode::Require),
            ("postgres://db.example/d?sslmode=verify-full", SslMode::Require),
            ("postgres://db.example/d?sslmode=disable", SslMode::Disable),
        ] {
            assert_eq!(mode(url), Ok(expected), "{url}");
        }
        assert_eq!(
            mode("postgres://h/d?sslmode=sometimes").unwrap_err().to_string(),
            "the store `there` cannot be used: `sslmode` cannot be `sometimes`; \
             allowed: disable, prefer, require, verify-ca, verify-full"
        );
    }
}
