//! Addresses of listeners: an address with a port, or a port alone for callers on this machine.

use crate::failure::Failure;
use std::borrow::Cow;
use std::net::SocketAddr;
use tokio::net::TcpListener;

/// Binds to an address. `key` is the option or setting with the address, for the error.
pub(crate) async fn bind(address: &str, key: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let refuse = |error: std::io::Error| cannot_listen(address, key, &error);
    let listener = TcpListener::bind(&*with_host(address)).await.map_err(refuse)?;
    let addr = listener.local_addr().map_err(refuse)?;
    Ok((listener, addr))
}

pub(crate) fn cannot_listen(address: &str, key: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!(
        "cannot listen on `{address}`: {error}; name another address with `{key}`"
    ))
}

/// Adds the host. A port alone (`4114`, `:4114`) means loopback, so that other machines get no access by mistake.
pub(crate) fn with_host(address: &str) -> Cow<'_, str> {
    match address.strip_prefix(':').unwrap_or(address).parse::<u16>() {
        Ok(port) => Cow::Owned(format!("127.0.0.1:{port}")),
        Err(_) => Cow::Borrowed(address),
    }
}

#[cfg(test)]
mod tests {
    use super::with_host;

    #[test]
    fn a_port_alone_is_on_loopback() {
        for (address, meant) in [
            ("4114", "127.0.0.1:4114"),
            (":0", "127.0.0.1:0"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(with_host(address), meant);
        }
    }
}
