//! Addresses of providers in the variables of their official SDKs, such as `OPENAI_BASE_URL`.
//!
//! A key in the environment goes where the environment says: it may be meant for a server of one's own.

use crate::config::Config;
use crate::environment::{Lookup, usable};
use crate::failure::Failure;
use http::Uri;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use thinkthrough_client::shown;
use thinkthrough_core::provider::{Endpoint, Provider};

/// An address that a variable gives to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) variable: &'static str,
    pub(crate) base_url: String,
    /// This very process listens there, so that its requests would go round in a circle.
    pub(crate) is_circle: bool,
}

impl fmt::Display for Given {
    /// Writes the address and its variable, without a credential that the address may hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri: Uri = self.base_url.parse().unwrap_or_default();
        let shown = shown(&uri);
        write!(f, "`{}` by `{}`", shown.trim_end_matches('/'), self.variable)
    }
}

/// The address that the environment gives to a provider's endpoint.
///
/// # Errors
/// The value is no address.
pub(crate) fn given(
    config: &Config,
    provider: &Provider,
    endpoint: &Endpoint,
    variables: Lookup<'_>,
) -> Result<Option<Given>, Failure> {
    let Some(sdk) = provider.address.filter(|_| !endpoint.base_url.is_empty()) else {
        return Ok(None);
    };
    let set = |name: &&'static str| Some((*name, usable(variables(name))?));
    let Some((variable, value)) = sdk.variables.iter().find_map(set) else { return Ok(None) };
    let base_url = sdk.base_url(endpoint.base_url, &value);
    let uri = base_url.parse::<Uri>().ok().filter(|it| it.host().is_some());
    let uri = uri.filter(|it| matches!(it.scheme_str(), Some("http" | "https")));
    let Some(uri) = uri else {
        return Err(Failure::Failed(format!(
            "`{variable}` is no address like `https://host/v1`; correct it or unset it"
        )));
    };
    let is_circle = leads_to(&uri, &config.listeners, &config.server.hosts);
    Ok(Some(Given { variable, base_url, is_circle }))
}

/// Whether an address is one of these listeners, under any name of this machine.
fn leads_to(uri: &Uri, listeners: &[SocketAddr], hosts: &[String]) -> bool {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let port = uri.port_u16().unwrap_or(usual);
    let mut own = listeners.iter().filter(|own| own.port() == port).peekable();
    if own.peek().is_none() {
        return false;
    }
    let host = uri.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if hosts.iter().any(|name| name.eq_ignore_ascii_case(host)) {
        return true;
    }
    let found: Vec<IpAddr> = match host.parse::<IpAddr>() {
        Ok(ip) => vec![ip],
        // An unknown name has no addresses.
        Err(_) => {
            let found = (host, port).to_socket_addrs().into_iter().flatten();
            found.map(|found| found.ip()).collect()
        }
    };
    own.any(|own| found.iter().any(|ip| is_at(own.ip(), *ip)))
}

/// Whether a listener on `own` takes connections to `ip`.
fn is_at(own: IpAddr, ip: IpAddr) -> bool {
    // An IPv4 address in the form of IPv6 is that IPv4 address.
    let (own, ip) = (own.to_canonical(), ip.to_canonical());
    let is_here = || ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
    // A connection to no address in particular goes to this machine.
    ip == own || (own.is_unspecified() && is_here()) || (ip.is_unspecified() && own.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_listener_is_known_by_every_name_of_this_machine() {
        let here: SocketAddr = "127.0.0.1:4114".parse().unwrap();
        let everywhere: SocketAddr = "0.0.0.0:4114".parse().unwrap();
        let names = ["gate.example".to_owned()];
        for (url, listener, expected) in [
            ("http://127.0.0.1:4114/v1", here, true),
            ("http://localhost:4114", here, true),
            ("http://0.0.0.0:4114", here, true),
            ("http://gate.example:4114/v1", here, true),
            ("http://[::ffff:127.0.0.1]:4114/v1", here, true),
            ("http://127.0.0.1:4115/v1", here, false),
            ("http://192.0.2.1:4114/v1", here, false),
            ("http://127.0.0.2:4114", here, false),
            ("http://127.0.0.2:4114", everywhere, true),
            ("http://192.0.2.1:4114/v1", everywhere, false),
            ("https://127.0.0.1", here, false),
        ] {
            let uri: Uri = url.parse().unwrap();
            assert_eq!(leads_to(&uri, &[listener], &names), expected, "{url} {listener}");
        }
        let usual: SocketAddr = "127.0.0.1:443".parse().unwrap();
        assert!(leads_to(&"https://127.0.0.1".parse().unwrap(), &[usual], &[]));
    }
}
