use std::fmt;
use std::net::IpAddr;

use base64::Engine;
use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};

use crate::error::{ClientError, shown};
use crate::no_proxy::NoProxy;
use crate::secret::Secret;

/// The choice of a proxy for each request.
///
/// Loopback addresses never do: a local model server is not reachable from a proxy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProxyRules {
    http: Option<Choice>,
    https: Option<Choice>,
    except: NoProxy,
}

/// A broken proxy URL of the environment is reported once a request needs it, not before.
type Choice = Result<Proxy, ClientError>;

impl ProxyRules {
    /// Sends everything directly.
    pub fn none() -> Self {
        Self::default()
    }

    /// Sends everything through one proxy, except the hosts of a `NO_PROXY` list.
    ///
    /// # Errors
    ///
    /// [`ClientError::Config`] if the URL is not one of a proxy.
    pub fn single(proxy: &str, no_proxy: &str) -> Result<Self, ClientError> {
        let proxy = Proxy::parse(proxy, "client.proxy")?;
        Ok(Self {
            http: Some(Ok(proxy.clone())),
            https: Some(Ok(proxy)),
            except: NoProxy::parse(no_proxy),
        })
    }

    /// Reads the usual variables (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`, in lower or
    /// upper case) through a look-up that the caller brings, because this crate reads no environment.
    ///
    /// Under a CGI server (`REQUEST_METHOD` is set) the upper-case `HTTP_PROXY` does not count, because there it is
    /// the `Proxy` header of the incoming request.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.trim().is_empty());
        let either = |name: &str| {
            let lower = name.to_ascii_lowercase();
            if let Some(value) = set(&lower) {
                return Some((lower, value));
            }
            if name == "HTTP_PROXY" && lookup("REQUEST_METHOD").is_some() {
                return None;
            }
            set(name).map(|value| (name.to_owned(), value))
        };
        let choice = |name: &str| {
            either(name)
                .or_else(|| either("ALL_PROXY"))
                .map(|(variable, value)| Proxy::parse(&value, &variable))
        };
        Self {
            http: choice("HTTP_PROXY"),
            https: choice("HTTPS_PROXY"),
            except: NoProxy::parse(&either("NO_PROXY").unwrap_or_default().1),
        }
    }

    /// Returns the proxy for a target, or `None` for a direct connection.
    pub(crate) fn choose(&self, target: &Uri) -> Result<Option<&Proxy>, ClientError> {
        let (choice, default_port) = match target.scheme_str() {
            Some("https") => (&self.https, 443),
            _ => (&self.http, 80),
        };
        let Some(choice) = choice else { return Ok(None) };
        let host = bare_host(target);
        let port = Some(target.port_u16().unwrap_or(default_port));
        if is_loopback(host) || self.except.covers(host, port) {
            return Ok(None);
        }
        choice.as_ref().map(Some).map_err(Clone::clone)
    }
}

/// One proxy: its address, its protocol, and its credential.
#[derive(Clone, PartialEq)]
pub(crate) struct Proxy {
    pub(crate) uri: Uri,
    pub(crate) kind: ProxyKind,
    user: Option<(String, Secret)>,
}

/// How a proxy is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyKind {
    /// HTTP over a plain connection.
    Http,
    /// HTTP over TLS.
    Https,
    /// SOCKS version 5; the proxy looks names up.
    Socks5,
}

impl Proxy {
    fn parse(text: &str, origin: &str) -> Result<Self, ClientError> {
        let refuse = |why: &str| {
            Err(ClientError::Config(format!(
                "`{origin}` is not a usable proxy ({why}); write it as `http://host:port`, \
                 `https://host:port` or `socks5://host:port`"
            )))
        };
        let text = text.trim();
        let text = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
        let Ok(uri) = text.parse::<Uri>() else { return refuse("not a URL") };
        let kind = match uri.scheme_str() {
            Some("http") => ProxyKind::Http,
            Some("https") => ProxyKind::Https,
            Some("socks5" | "socks5h") => ProxyKind::Socks5,
            _ => return refuse("unknown scheme"),
        };
        if uri.host().is_none_or(str::is_empty) {
            return refuse("no host");
        }
        let user = uri.authority().and_then(|authority| credentials(authority.as_str()));
        let port = uri.port_u16().unwrap_or(match kind {
            ProxyKind::Http => 80,
            ProxyKind::Https => 443,
            ProxyKind::Socks5 => 1080,
        });
        let address = format!("{}:{port}", uri.host().unwrap_or_default());
        let mut parts = uri.into_parts();
        let Ok(authority) = address.parse() else { return refuse("no host") };
        parts.authority = Some(authority);
        parts.path_and_query = Some(PathAndQuery::from_static("/"));
        match Uri::from_parts(parts) {
            Ok(uri) => Ok(Self { uri, kind, user }),
            Err(_) => refuse("not a URL"),
        }
    }

    /// Renders the proxy for people, without its credential.
    pub(crate) fn shown(&self) -> String {
        shown(&self.uri).trim_end_matches('/').to_owned()
    }

    /// Gives user name and password, if the URL brought them.
    pub(crate) fn user(&self) -> Option<(&str, &str)> {
        self.user.as_ref().map(|(name, password)| (name.as_str(), password.expose()))
    }

    /// Gives the value of `proxy-authorization`, if the URL brought a credential.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        self.user().and_then(|(name, password)| basic(name, password))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({})", self.shown())
    }
}

/// Builds a `Basic` credential.
pub(crate) fn basic(name: &str, password: &str) -> Option<HeaderValue> {
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{name}:{password}"));
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Reads `user:password@` from the authority of a URL, undoing percent escapes.
pub(crate) fn credentials(authority: &str) -> Option<(String, Secret)> {
    let (user, _) = authority.rsplit_once('@')?;
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    Some((unescape(name), Secret::verbatim(unescape(password))))
}

/// Gives the host of a URL without the brackets of an IPv6 address.
pub(crate) fn bare_host(uri: &Uri) -> &str {
    uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

fn is_loopback(host: &str) -> bool {
    if host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) {
        return true;
    }
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let escaped =
            (byte == b'%').then(|| Some(16 * digit(ahead.next())? + digit(ahead.next())?));
        match escaped.flatten() {
            Some(value) => {
                out.push(value);
                bytes = ahead;
            }
            None => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn digit(byte: Option<u8>) -> Option<u8> {
    let value = char::from(byte?).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(rules: &ProxyRules, target: &str) -> Option<String> {
        rules.choose(&target.parse().unwrap()).unwrap().map(Proxy::shown)
    }

    fn env(pairs: &'static [(&'static str, &'static str)]) -> ProxyRules {
        ProxyRules::from_env(|name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_chooses_by_scheme_then_for_all() {
        let rules = env(&[("https_proxy", "http://a:1"), ("ALL_PROXY", "b:2")]);
        assert_eq!(chosen(&rules, "https://api.test/"), Some("http://a:1".into()));
        assert_eq!(chosen(&rules, "http://api.test/"), Some("http://b:2".into()));
        assert_eq!(chosen(&env(&[]), "http://api.test/"), None);
        assert_eq!(chosen(&env(&[("HTTP_PROXY", " ")]), "http://api.test/"), None);
    }

    #[test]
    fn lower_case_wins_and_a_cgi_server_cannot_plant_a_proxy() {
        let rules = env(&[("http_proxy", "a:1"), ("HTTP_PROXY", "b:2")]);
        assert_eq!(chosen(&rules, "http://api.test/"), Some("http://a:1".into()));
        let rules = env(&[("HTTP_PROXY", "b:2"), ("REQUEST_METHOD", "GET")]);
        assert_eq!(chosen(&rules, "http://api.test/"), None);
    }

    #[test]
    fn loopback_and_listed_hosts_are_reached_directly() {
        let rules = env(&[("ALL_PROXY", "p:1"), ("NO_PROXY", "corp.test,10.0.0.0/8")]);
        for direct in [
            "http://localhost:11434/",
            "http://127.8.9.1/",
            "http://[::1]:8000/",
            "https://llm.corp.test/",
            "http://10.1.2.3/",
        ] {
            assert_eq!(chosen(&rules, direct), None, "{direct}");
        }
        assert!(chosen(&rules, "http://11.1.2.3/").is_some());
    }

    #[test]
    fn a_credential_in_the_url_is_used_and_never_shown() {
        let rules = ProxyRules::single("https://bob:p%40ss-canary@px.test", "").unwrap();
        let proxy = rules.choose(&"https://api.test/".parse().unwrap()).unwrap().unwrap();
        assert_eq!(proxy.user(), Some(("bob", "p@ss-canary")));
        assert_eq!(proxy.authorization().unwrap(), "Basic Ym9iOnBAc3MtY2FuYXJ5");
        assert_eq!(proxy.shown(), "https://px.test:443");
        assert!(!format!("{rules:?} {proxy:?}").contains("canary"));
        assert_eq!(proxy.uri.authority().unwrap(), "px.test:443");
    }

    #[test]
    fn a_broken_proxy_is_named_by_its_origin_and_only_when_needed() {
        let error = ProxyRules::single("ftp://bob:canary@px", "").unwrap_err().to_string();
        assert!(error.contains("`client.proxy`") && !error.contains("canary"), "{error}");
        let rules = env(&[("ALL_PROXY", "ftp://px"), ("https_proxy", "http://ok:1")]);
        assert!(chosen(&rules, "https://api.test/").is_some());
        let error = rules.choose(&"http://api.test/".parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains("`ALL_PROXY`"), "{error}");
    }

    #[test]
    fn escapes_are_undone_and_lone_percent_signs_kept() {
        assert_eq!(unescape("a%20b%"), "a b%");
        assert_eq!(unescape("%zz%4"), "%zz%4");
        assert_eq!(unescape("%+1"), "%+1");
    }
}
