//! Row-level security of a server: what a role that does not own the tables sees.

use super::server::connect;
use super::talk::Talk;
use super::trace_items::with_items;
use super::traces::{ids, trace};
use super::{Folder, question, titled};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{
    KeySource, Limits, Location, Moment, NewTrace, Store, TraceFilter, TraceText,
};
use tokio_postgres::Client;

/// A role of this test alone, for the database of a folder whose tables are there.
struct Role {
    name: String,
    url: String,
    owner: Client,
}

impl Role {
    async fn new(folder: &Folder) -> Self {
        drop(folder.open().await.unwrap());
        let url = folder.server.as_ref().unwrap().url.clone();
        let (_, rest) = url.split_once("://").unwrap();
        let (server, database) = rest.rsplit_once('/').unwrap();
        let server = server.rsplit_once('@').map_or(server, |(_, server)| server);
        let name = format!("{database}_gateway");
        let owner = connect(&url).await.unwrap();
        let made = format!(
            "DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {name}"
        );
        owner.batch_execute(&made).await.unwrap();
        Role { url: format!("postgres://{name}@{server}/{database}"), name, owner }
    }

    async fn open(&self, folder: &Folder) -> Store {
        let key = KeySource::File(folder.key());
        Store::open(&Location::Postgres(self.url.clone()), &key).await.unwrap()
    }

    async fn end(self) {
        let Role { name, owner, .. } = self;
        owner.batch_execute(&format!("DROP OWNED BY {name}; DROP ROLE {name}")).await.unwrap();
    }
}

async fn count(client: &Client, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

const TABLES: [&str; 16] = [
    "tenant",
    "data_key",
    "conversation",
    "message",
    "draft",
    "thread",
    "record",
    "record_key",
    "response",
    "fact",
    "reasoning_traces",
    "trace_items",
    "trace_session",
    "ledger",
    "gateway_key",
    "install",
];

#[tokio::test]
async fn t_10_a_statement_that_names_no_tenant_sees_no_row() {
    let Some(folder) = Folder::on_server().await else { return };
    let role = Role::new(&folder).await;
    let store = role.open(&folder).await;
    let (alice, bob) = (Tenant::named("alice").unwrap(), Tenant::named("bob").unwrap());
    for (tenant, id) in [(&alice, "a"), (&bob, "b")] {
        let conversations = store.conversations(tenant);
        let its = conversations.begin(&titled("t"), &[question("hello")]).await.unwrap();
        assert_eq!(conversations.load(&its).await.unwrap().contents.len(), 1);
        let mut talk = Talk::new(&store, tenant, "x");
        talk.turn("one", "hm", "first").await;
        assert_eq!(talk.restored().await, 1);
        let new = NewTrace { tenant: tenant.clone(), ..with_items(id, 5, "why?") };
        store.traces().add(vec![new]).await.unwrap();
        store.gateway_keys().create(tenant.as_str()).await.unwrap();
    }
    let mut client = connect(&role.url).await.unwrap();
    for table in TABLES {
        assert_eq!(count(&client, table).await, 0, "{table}");
    }
    // Nor does the session keep what a transaction said.
    let say = |word: &str| format!("SET LOCAL thinkthrough.tenant = '{word}'");
    let nr: i64 = role
        .owner
        .query_one("SELECT nr FROM tenant WHERE name = 'alice'", &[])
        .await
        .unwrap()
        .get(0);
    for (word, expected) in [
        ("name:alice", [1, 1, 0, 1, 0]),
        ("*", [2, 2, 2, 2, 1]),
        (&format!("nr:{nr}"), [0, 0, 1, 0, 0]),
        ("name:carol", [0, 0, 0, 0, 0]),
    ] {
        let transaction = client.transaction().await.unwrap();
        transaction.batch_execute(&say(word)).await.unwrap();
        let own = transaction.client();
        let mut seen = Vec::new();
        for table in ["reasoning_traces", "trace_items", "record", "gateway_key", "install"] {
            seen.push(count(own, table).await);
        }
        assert_eq!(seen, expected, "{word}");
        transaction.commit().await.unwrap();
        assert_eq!(count(&client, "record").await, 0, "{word}");
    }
    // One's own transaction cannot write for another.
    let transaction = client.transaction().await.unwrap();
    transaction.batch_execute(&say("name:alice")).await.unwrap();
    let sql = "INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, \
               reasoning_text, created_at, tenant) VALUES ('x', '', '', '', '', '', 1, 'bob')";
    let refused = transaction.batch_execute(sql).await.unwrap_err();
    assert!(refused.as_db_error().unwrap().message().contains("row-level security"), "{refused}");
    drop(transaction);
    drop((client, store));
    role.end().await;
}

#[tokio::test]
async fn behind_the_wall_everything_works() {
    let Some(folder) = Folder::on_server().await else { return };
    let role = Role::new(&folder).await;
    let store = role.open(&folder).await;
    let (alice, bob) = (Tenant::named("alice").unwrap(), Tenant::named("bob").unwrap());
    // Many at once share one connection, and each sees its own.
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..24 {
        let (store, tenant) = (store.clone(), if n % 2 == 0 { alice.clone() } else { bob.clone() });
        tasks.spawn(async move {
            let mut talk = Talk::new(&store, &tenant, &format!("s{n}"));
            for turn in 0..4 {
                talk.turn(&format!("{n} {turn}"), "hm", "yes").await;
                assert_eq!(talk.restored().await, turn + 1);
            }
            let id = format!("{n:02}");
            let new = NewTrace { tenant: tenant.clone(), ..with_items(&id, n, "why?") };
            store.traces().add(vec![new]).await.unwrap();
            let kept = store.traces().get(&id).await.unwrap().unwrap();
            assert_eq!(kept.items.title().as_deref(), Some("why?"));
            let its =
                TraceFilter { tenant: Some(tenant.as_str().to_owned()), ..TraceFilter::default() };
            for one in store.traces().list(its).await.unwrap() {
                assert_eq!(one.tenant, tenant.as_str());
            }
        });
    }
    tasks.join_all().await;
    let traces = store.traces();
    while traces.index().await.unwrap() > 0 {}
    let its = TraceFilter { tenant: Some("alice".to_owned()), ..TraceFilter::default() };
    let hits = traces.search("zebra", TraceText::All, its.clone()).await.unwrap();
    assert_eq!((hits.traces.len(), hits.indexed_to), (12, None));
    assert_eq!(traces.list(TraceFilter::default()).await.unwrap().len(), 24);
    let sessions = traces.sessions(its.clone()).await.unwrap();
    assert_eq!((sessions.len(), sessions[0].requests), (1, 12));
    assert_eq!(ids(&traces.list(TraceFilter { limit: 1, ..its }).await.unwrap()), ["22"]);
    assert_eq!(store.holding(&alice).await.unwrap().unwrap().records, 48);
    // What is done for all, and what is done for one.
    let none = Limits { records: 0, ..Limits::default() };
    assert!(store.prune(&none, Moment::now()).await.unwrap().conversations > 0);
    assert_eq!(store.rotate(&bob).await.unwrap(), Some(2));
    store.erase(&alice).await.unwrap();
    assert_eq!(store.holding(&alice).await.unwrap(), None);
    let left = traces.list(TraceFilter::default()).await.unwrap();
    assert!(left.iter().all(|trace| trace.tenant == "bob"), "{left:?}");
    drop(store);
    role.end().await;
}

/// The triggers work as the owner of the tables.
#[tokio::test]
async fn a_role_that_was_not_granted_new_tables_goes_on_keeping_traces() {
    let Some(folder) = Folder::on_server().await else { return };
    let role = Role::new(&folder).await;
    let revoke = format!("REVOKE ALL ON trace_session FROM {}", role.name);
    role.owner.batch_execute(&revoke).await.unwrap();
    let store = role.open(&folder).await;
    store.traces().add(vec![trace("a", 5, "", ""), trace("b", 6, "", "")]).await.unwrap();
    while store.traces().index().await.unwrap() > 0 {}
    assert_eq!(store.traces().prune_older_than(6).await.unwrap(), 1);
    assert_eq!(count(&role.owner, "trace_session WHERE requests = 1").await, 1);
    drop(store);
    role.end().await;
}
