//! Tests of the store through its public interface.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::string_slice,
    reason = "everything here is a test, and a test that breaks is a finding"
)]

/// Runs each test on a file and on a server.
macro_rules! on_each_database {
    ($($name:ident,)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(crate::Folder::new()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                if let Some(folder) = crate::Folder::on_server().await {
                    super::$name(folder).await;
                }
            })*
        }
    };
}

mod broken_log;
mod conversations;
mod damage;
mod drafts;
mod early;
mod facts;
mod gateway_keys;
mod imported;
mod journal;
mod kills;
mod ledgers;
mod patience;
mod poison;
mod recent;
mod responses;
mod retention;
mod rotation;
mod search;
mod secrecy;
mod server;
mod spill;
mod spool;
mod talk;
mod timing;
mod tls;
mod trace_counts;
mod trace_items;
mod trace_search;
mod trace_sessions;
mod traces;
mod vault;
mod wall;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{Conversations, KeySource, Location, Meta, Store, StoreError};

/// A place for the store of one test, deleted with it: a folder, and a database on a server if the test needs one.
struct Folder {
    path: PathBuf,
    server: Option<server::Database>,
    /// The name of the store's file.
    name: String,
    is_own: bool,
}

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("think-store-{}-{mark}", std::process::id()));
        // A killed process with the same number may have left it.
        drop(std::fs::remove_dir_all(&path));
        Folder { path, server: None, name: "thinkthrough.db".to_owned(), is_own: true }
    }

    /// A folder that another process made and deletes.
    fn at(path: PathBuf) -> Self {
        Folder { path, server: None, name: "thinkthrough.db".to_owned(), is_own: false }
    }

    /// A new database on the PostgreSQL server, if there is one; the folder holds its key.
    async fn on_server() -> Option<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        let mut folder = Folder::new();
        folder.server = Some(server::Database::new().await?);
        std::fs::create_dir_all(&folder.path).unwrap();
        std::fs::write(folder.key(), "0f".repeat(32)).unwrap();
        std::fs::set_permissions(folder.key(), std::fs::Permissions::from_mode(0o600)).unwrap();
        Some(folder)
    }

    fn file(&self) -> PathBuf {
        self.path.join(&self.name)
    }

    fn key(&self) -> PathBuf {
        self.path.join("thinkthrough.key")
    }

    fn location(&self) -> Location {
        match &self.server {
            Some(server) => Location::Postgres(server.url.clone()),
            None => Location::Sqlite(self.file()),
        }
    }

    async fn open(&self) -> Result<Store, StoreError> {
        Store::open(&self.location(), &KeySource::File(self.key())).await
    }

    /// The store with a spool in the same folder.
    async fn open_with_spool(&self) -> Store {
        let store = self.open().await.unwrap();
        store.spool_in(&self.path).await;
        store
    }

    /// The bytes of all files in the folder except the key.
    fn bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| *path != self.key());
        // A store that closes may delete its journal at this moment.
        let read = |path: PathBuf| match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => read.unwrap(),
        };
        files.flat_map(read).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_own {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// The conversations of the local tenant in a new store.
async fn local(folder: &Folder) -> Conversations {
    folder.open().await.unwrap().conversations(&Tenant::local())
}

fn titled(title: &str) -> Meta {
    Meta { title: Some(title.to_owned()), ..Meta::default() }
}

fn question(text: &str) -> Content {
    Content::text(Speaker::Human, text)
}

fn answer(thought: &str, text: &str) -> Content {
    let thinking = Thinking {
        signature: Some("c2lnbmF0dXJl".to_owned()),
        ..Thinking::new(thought, "thinking")
    };
    Content::new(Speaker::Ai, vec![Block::Thinking(thinking), Block::Text(Text::new(text))])
}

fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
