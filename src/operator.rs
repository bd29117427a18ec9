//! The socket on which the operator of a gateway asks it for a link to its viewer.
//!
//! It is a local socket named after the address that the viewer is at, and both sides check that the other is a
//! process of the same user: so the command needs neither a key nor a file that both can write, and works in a
//! container, too.

use std::io;
use std::net::SocketAddr;
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::time::{Duration, Instant};
use thinkthrough_gateway::Viewer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};

/// How long either side may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// No link is longer.
const LONGEST: u64 = 1024;

/// The viewer of a running gateway, and its address.
#[derive(Clone)]
pub(crate) struct Operated {
    pub(crate) viewer: Viewer,
    pub(crate) scheme: &'static str,
    pub(crate) door: SocketAddr,
}

impl Operated {
    /// The address of the viewer's page.
    pub(crate) fn page(&self) -> String {
        format!("{}://{}/ui/", self.scheme, reachable(self.door))
    }

    /// A new link, which ends the one before it. It is behind the `#`, so that no log has it.
    pub(crate) fn link(&self) -> Option<String> {
        let token = self.viewer.invite(Instant::now())?;
        Some(format!("{}#/sign-in/{token}", self.page()))
    }

    /// Gives links to processes of the same user from now on.
    pub(crate) fn answer(&self) -> io::Result<()> {
        let listener = bind(self.door)?;
        listener.set_nonblocking(true)?;
        let (listener, operated) = (UnixListener::from_std(listener)?, self.clone());
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        drop(tokio::time::timeout(PATIENCE, operated.give(stream)).await);
                    }
                    // A lack of descriptors passes.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        });
        Ok(())
    }

    async fn give(&self, mut stream: UnixStream) -> io::Result<()> {
        if is_own(&stream)?
            && let Some(link) = self.link()
        {
            stream.write_all(link.as_bytes()).await?;
        }
        stream.shutdown().await
    }
}

/// A link to the viewer of the gateway at this address.
pub(crate) async fn ask(door: SocketAddr) -> Result<String, String> {
    let asking = async {
        let stream = connect(door)?;
        stream.set_nonblocking(true)?;
        let stream = UnixStream::from_std(stream)?;
        if !is_own(&stream)? {
            return Err(io::Error::other("it belongs to another user; run this as that user"));
        }
        let mut link = String::new();
        stream.take(LONGEST).read_to_string(&mut link).await?;
        Ok(link)
    };
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(link)) if link.is_empty() => {
            Err("it gives links to its own user only; run this as that user".to_owned())
        }
        Ok(Ok(link)) => Ok(link),
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
            Err("no gateway is there; start it, or give its address".to_owned())
        }
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("it says nothing within {PATIENCE:?}")),
    }
}

fn is_own(stream: &UnixStream) -> io::Result<bool> {
    Ok(stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw())
}

/// An address that a browser on this machine can open.
fn reachable(door: SocketAddr) -> SocketAddr {
    match door {
        SocketAddr::V4(_) if door.ip().is_unspecified() => ([127, 0, 0, 1], door.port()).into(),
        SocketAddr::V6(_) if door.ip().is_unspecified() => {
            (std::net::Ipv6Addr::LOCALHOST, door.port()).into()
        }
        _ => door,
    }
}

/// The name goes with its process, and with the container.
#[cfg(target_os = "linux")]
fn name(door: SocketAddr) -> io::Result<std::os::unix::net::SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    std::os::unix::net::SocketAddr::from_abstract_name(format!("thinkthrough-ui-{door}"))
}

#[cfg(target_os = "linux")]
fn bind(door: SocketAddr) -> io::Result<StdListener> {
    StdListener::bind_addr(&name(door)?)
}

#[cfg(target_os = "linux")]
fn connect(door: SocketAddr) -> io::Result<StdStream> {
    StdStream::connect_addr(&name(door)?)
}

/// A file, because other systems have no names without one.
#[cfg(not(target_os = "linux"))]
fn file(door: SocketAddr) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("thinkthrough-ui-{door}.sock"))
}

#[cfg(not(target_os = "linux"))]
fn bind(door: SocketAddr) -> io::Result<StdListener> {
    // A gateway that was killed left it: no other one has this address.
    drop(std::fs::remove_file(file(door)));
    StdListener::bind(file(door))
}

#[cfg(not(target_os = "linux"))]
fn connect(door: SocketAddr) -> io::Result<StdStream> {
    StdStream::connect(file(door)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::ErrorKind::ConnectionRefused.into(),
        _ => error,
    })
}
