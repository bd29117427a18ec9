use std::net::IpAddr;

/// The hosts of a `NO_PROXY` list.
///
/// An entry is `*`, a domain (its subdomains included, a leading dot or `*.` allowed), an address,
/// or a network such as `10.0.0.0/8`; any but `*` and a network may end with a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NoProxy(Vec<Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Address(IpAddr, Option<u16>),
    All,
    Domain(String, Option<u16>),
    Network(IpAddr, u32),
}

impl NoProxy {
    /// Reads a list, separated by commas and white space. Invalid entries match no host.
    pub(crate) fn parse(list: &str) -> Self {
        let entries = list.split(|c: char| c == ',' || c.is_whitespace());
        Self(entries.filter(|text| !text.is_empty()).map(Entry::parse).collect())
    }

    /// Says whether a host (an IPv6 address without brackets) is taken out.
    pub(crate) fn covers(&self, host: &str, port: Option<u16>) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address = host.parse::<IpAddr>().ok();
        let fits = |wanted: Option<u16>| wanted.is_none() || wanted == port;
        self.0.iter().any(|entry| match entry {
            Entry::Address(one, on) => Some(*one) == address && fits(*on),
            Entry::All => true,
            Entry::Domain(domain, on) => fits(*on) && address.is_none() && is_within(&host, domain),
            Entry::Network(network, bits) => {
                address.is_some_and(|address| shares_prefix(*network, address, *bits))
            }
        })
    }
}

impl Entry {
    fn parse(text: &str) -> Self {
        if text == "*" {
            return Self::All;
        }
        if let Some((network, bits)) = text.split_once('/')
            && let (Ok(network), Ok(bits)) = (network.parse(), bits.parse())
        {
            return Self::Network(network, bits);
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse() {
            return Self::Address(address, None);
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (text, None),
        };
        if let Ok(address) = host.trim_matches(['[', ']']).parse() {
            return Self::Address(address, port);
        }
        let domain = host.trim_start_matches('*').trim_matches('.').to_ascii_lowercase();
        Self::Domain(domain, port)
    }
}

fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        && !domain.is_empty()
}

fn shares_prefix(network: IpAddr, address: IpAddr, bits: u32) -> bool {
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            bits <= 32 && u64::from(a.to_bits() ^ b.to_bits()) >> (32 - bits) == 0
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let differing = a.to_bits() ^ b.to_bits();
            bits <= 128 && differing.checked_shr(128 - bits).unwrap_or(0) == 0
        }
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_entry_covers_what_it_names() {
        let cases: &[(&str, &str, Option<u16>, bool)] = &[
            ("*", "anything.test", None, true),
            ("corp.test", "corp.test", None, true),
            ("corp.test", "API.Corp.Test.", None, true),
            ("corp.test", "notcorp.test", None, false),
            (".corp.test", "a.corp.test", None, true),
            ("*.corp.test", "a.corp.test", None, true),
            ("corp.test:8443", "corp.test", Some(8443), true),
            ("corp.test:8443", "corp.test", None, false),
            ("192.168.1.7", "192.168.1.7", None, true),
            ("192.168.1.7:80", "192.168.1.7", Some(81), false),
            ("192.168.0.0/16", "192.168.200.1", None, true),
            ("192.168.0.0/16", "192.169.0.1", None, false),
            ("0.0.0.0/0", "8.8.8.8", None, true),
            ("10.0.0.0/33", "10.0.0.1", None, false),
            ("fd00::/8", "fd12::1", None, true),
            ("::/0", "2001:db8::1", None, true),
            ("::/0", "8.8.8.8", None, false),
            ("[::2]:80", "::2", Some(80), true),
            ("::2", "::2", Some(80), true),
            ("1.2.3", "11.2.3", None, false),
            ("2.3.4", "1.2.3.4", None, false),
            (".", "corp.test", None, false),
            ("", "corp.test", None, false),
        ];
        for (list, host, port, covered) in cases {
            assert_eq!(NoProxy::parse(list).covers(host, *port), *covered, "{list} {host}");
        }
        let list = NoProxy::parse(" a.test, b.test\tc.test,,");
        assert!(["a.test", "b.test", "c.test"].iter().all(|host| list.covers(host, None)));
    }
}
