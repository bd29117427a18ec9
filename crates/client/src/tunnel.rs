use http::Uri;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::connect::BoxIo;
use crate::error::ClientError;
use crate::proxy::{Proxy, ProxyKind, bare_host};

/// No honest proxy answers a request for a tunnel with more than this.
const MAX_ANSWER: usize = 16 * 1024;

/// Asks a proxy, over a connection to it, for a tunnel to a server.
pub(crate) async fn open(
    mut io: BoxIo,
    proxy: &Proxy,
    host: &Uri,
    port: u16,
) -> Result<BoxIo, ClientError> {
    match proxy.kind {
        ProxyKind::Http | ProxyKind::Https => connect(&mut io, proxy, host, port).await?,
        ProxyKind::Socks5 => socks5(&mut io, proxy, bare_host(host), port).await?,
    }
    Ok(io)
}

async fn connect(io: &mut BoxIo, proxy: &Proxy, host: &Uri, port: u16) -> Result<(), ClientError> {
    let address = format!("{}:{port}", host.host().unwrap_or_default());
    let mut request = format!("CONNECT {address} HTTP/1.1\r\nhost: {address}\r\n").into_bytes();
    if let Some(value) = proxy.authorization() {
        request.extend_from_slice(b"proxy-authorization: ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    write(io, proxy, &request).await?;
    let head = read_head(io, proxy).await?;
    let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
    match std::str::from_utf8(status).ok().and_then(|status| status.parse::<u16>().ok()) {
        Some(200..=299) if head.starts_with(b"HTTP/1.") => Ok(()),
        Some(407) => Err(refused(proxy, "asks for a user name and password", false)),
        Some(status) => {
            let detail = format!("answered {status} when asked for `{address}`");
            Err(refused(proxy, &detail, status >= 500))
        }
        None => Err(refused(proxy, "does not speak HTTP", false)),
    }
}

/// Reads up to the empty line. No data may follow it, because the server speaks second.
async fn read_head(io: &mut BoxIo, proxy: &Proxy) -> Result<Vec<u8>, ClientError> {
    let mut head = Vec::with_capacity(512);
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_ANSWER {
            return Err(refused(proxy, "sent an endless answer", false));
        }
        match io.read_buf(&mut head).await {
            Ok(0) => return Err(refused(proxy, "closed the connection", true)),
            Ok(_) => {}
            Err(error) => return Err(broken(proxy, &error)),
        }
        let is_complete = head.windows(4).any(|window| window == b"\r\n\r\n");
        if is_complete && !head.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    Ok(head)
}

/// Speaks SOCKS 5 (RFC 1928) with optional user name and password (RFC 1929).
async fn socks5(io: &mut BoxIo, proxy: &Proxy, host: &str, port: u16) -> Result<(), ClientError> {
    let greeting: &[u8] = if proxy.user().is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
    write(io, proxy, greeting).await?;
    let mut choice = [0; 2];
    read(io, proxy, &mut choice).await?;
    match (choice, proxy.user()) {
        ([5, 0], _) => {}
        ([5, 2], Some((name, password))) => {
            let mut login = vec![1];
            push_short(&mut login, name.as_bytes(), proxy)?;
            push_short(&mut login, password.as_bytes(), proxy)?;
            write(io, proxy, &login).await?;
            let mut verdict = [0; 2];
            read(io, proxy, &mut verdict).await?;
            if verdict != [1, 0] {
                return Err(refused(proxy, "refuses the user name and password", false));
            }
        }
        ([5, _], _) => return Err(refused(proxy, "asks for another way to log in", false)),
        _ => return Err(refused(proxy, "does not speak SOCKS 5", false)),
    }
    let mut request = vec![5, 1, 0];
    match host.parse() {
        Ok(std::net::IpAddr::V4(address)) => {
            request.push(1);
            request.extend_from_slice(&address.octets());
        }
        Ok(std::net::IpAddr::V6(address)) => {
            request.push(4);
            request.extend_from_slice(&address.octets());
        }
        Err(_) => {
            request.push(3);
            push_short(&mut request, host.as_bytes(), proxy)?;
        }
    }
    request.extend_from_slice(&port.to_be_bytes());
    write(io, proxy, &request).await?;
    read_socks5_reply(io, proxy, host).await
}

async fn read_socks5_reply(io: &mut BoxIo, proxy: &Proxy, host: &str) -> Result<(), ClientError> {
    let mut reply = [0; 4];
    read(io, proxy, &mut reply).await?;
    let [version, code, _, kind] = reply;
    if version != 5 {
        return Err(refused(proxy, "does not speak SOCKS 5", false));
    }
    if code != 0 {
        let why = match code {
            2 => "does not allow",
            3 | 4 => "cannot reach",
            5 => "was refused by",
            _ => "failed to reach",
        };
        return Err(refused(proxy, &format!("{why} `{host}`"), code != 2));
    }
    let mut length = [0; 1];
    let rest = match kind {
        1 => 4,
        4 => 16,
        3 => {
            read(io, proxy, &mut length).await?;
            usize::from(u8::from_be_bytes(length))
        }
        _ => return Err(refused(proxy, "does not speak SOCKS 5", false)),
    };
    // The address that the proxy used is not needed, but it comes before the server's bytes.
    read(io, proxy, &mut vec![0; rest + 2]).await
}

fn push_short(out: &mut Vec<u8>, text: &[u8], proxy: &Proxy) -> Result<(), ClientError> {
    let length = u8::try_from(text.len())
        .map_err(|_| refused(proxy, "takes no name or password over 255 bytes", false))?;
    out.push(length);
    out.extend_from_slice(text);
    Ok(())
}

async fn write(io: &mut BoxIo, proxy: &Proxy, bytes: &[u8]) -> Result<(), ClientError> {
    let written = async {
        io.write_all(bytes).await?;
        io.flush().await
    };
    written.await.map_err(|error| broken(proxy, &error))
}

async fn read(io: &mut BoxIo, proxy: &Proxy, bytes: &mut [u8]) -> Result<(), ClientError> {
    io.read_exact(bytes).await.map(|_| ()).map_err(|error| broken(proxy, &error))
}

fn broken(proxy: &Proxy, error: &std::io::Error) -> ClientError {
    refused(proxy, &format!("broke the connection ({error})"), true)
}

fn refused(proxy: &Proxy, detail: &str, transient: bool) -> ClientError {
    ClientError::Proxy { proxy: proxy.shown(), detail: detail.to_owned(), transient }
}
