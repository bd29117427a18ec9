//! A proxy to a server. While it is frozen, data waits in it without an error.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Forwards connections to a server, but not while it is frozen.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    gate: Arc<(Mutex<bool>, Condvar)>,
}

impl Proxy {
    /// A proxy to this address, on this port. 0 means any free port.
    pub(crate) fn new(to: &str, port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let (to, held) = (to.to_owned(), Arc::clone(&gate));
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(&to)) else { continue };
                let (back, forth) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (one, two) = (Arc::clone(&held), Arc::clone(&held));
                std::thread::spawn(move || pass(near, forth, &one));
                std::thread::spawn(move || pass(far, back, &two));
            }
        });
        Proxy { port, gate }
    }

    /// Stops all traffic, or lets it continue.
    pub(crate) fn freeze(&self, is_frozen: bool) {
        *self.gate.0.lock().unwrap() = is_frozen;
        self.gate.1.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Waiting threads can end.
        self.freeze(false);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, gate: &(Mutex<bool>, Condvar)) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let frozen = gate.0.lock().unwrap();
        drop(gate.1.wait_while(frozen, |is_frozen| *is_frozen).unwrap());
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    drop(to.shutdown(std::net::Shutdown::Both));
}
