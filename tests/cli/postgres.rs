//! A database on a PostgreSQL server, through the server's own client program.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The usual address of the server. The variable names another one.
const USUAL: &str = "postgres://postgres@127.0.0.1:5432";
const VARIABLE: &str = "THINKTHROUGH_POSTGRES";

/// A database that is dropped with this value.
pub(crate) struct Database {
    name: String,
    pub(crate) url: String,
}

fn base() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| USUAL.to_owned())
}

fn say(sql: &str) -> Result<(), String> {
    say_in(&format!("{}/postgres", base()), sql)
}

fn say_in(url: &str, sql: &str) -> Result<(), String> {
    let ran = Command::new("psql").args(["-q", "-v", "ON_ERROR_STOP=1", url, "-c", sql]).output();
    let output = ran.map_err(|error| format!("`psql` does not run: {error}"))?;
    let told = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(told()) }
}

impl Database {
    /// A new database, if there is a server and its client.
    pub(crate) fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("think_cli_{}_{mark}", std::process::id());
        // A killed process with the same number may have left one.
        let made = say(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
            .and_then(|()| say(&format!("CREATE DATABASE {name}")));
        if let Err(error) = made {
            println!(
                "skipped: no PostgreSQL server at {} ({}); {VARIABLE} names one",
                base(),
                error.trim()
            );
            return None;
        }
        let url = format!("{}/{name}", base());
        Some(Database { name, url })
    }

    /// Ends all connections, and refuses new ones.
    pub(crate) fn shut(&self) {
        let name = &self.name;
        say(&format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")).unwrap();
        self.cut();
    }

    /// Accepts connections again.
    pub(crate) fn open(&self) {
        say(&format!("ALTER DATABASE {} WITH ALLOW_CONNECTIONS true", self.name)).unwrap();
    }
}

impl Database {
    /// Runs SQL in it, as another program might.
    pub(crate) fn say(&self, sql: &str) {
        say_in(&self.url, sql).unwrap();
    }

    /// Number of rows in a table.
    pub(crate) fn rows(&self, table: &str) -> usize {
        let sql = format!("SELECT count(*) FROM {table}");
        let ran = Command::new("psql").args(["-q", "-At", &self.url, "-c", &sql]).output().unwrap();
        String::from_utf8(ran.stdout).unwrap().trim().parse().unwrap()
    }

    /// A copy of it as it is now, for [`Database::fails_over_to`].
    pub(crate) fn copied(&self) -> Database {
        let (name, copy) = (&self.name, format!("{}_copy", self.name));
        // PostgreSQL copies only a database without connections.
        self.shut();
        say(&format!("DROP DATABASE IF EXISTS {copy} WITH (FORCE)")).unwrap();
        say(&format!("CREATE DATABASE {copy} TEMPLATE {name}")).unwrap();
        self.open();
        Database { url: format!("{}/{copy}", base()), name: copy }
    }

    /// Replaces the database by an older copy, without the commits since then.
    pub(crate) fn fails_over_to(&self, copy: &Database) {
        let (name, copy) = (&self.name, &copy.name);
        self.shut();
        say(&format!("ALTER DATABASE {name} RENAME TO {name}_lost")).unwrap();
        say(&format!("ALTER DATABASE {copy} RENAME TO {name}")).unwrap();
        say(&format!("DROP DATABASE {name}_lost WITH (FORCE)")).unwrap();
    }

    /// The server ends every session of it.
    pub(crate) fn cut(&self) {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ";
        say(&format!("{sql}'{}'", self.name)).unwrap();
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        drop(say(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)));
    }
}
