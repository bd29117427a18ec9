//! TLS to the server, as far as the one at hand offers it.

use super::{Folder, server};
use thinkthrough_store::{KeySource, Location, Store, StoreError};

/// The address of the test's database with these parameters, by the name in the certificate, if it is this machine.
fn address(folder: &Folder, parameters: &str) -> Location {
    let url = folder.server.as_ref().unwrap().url.replace("127.0.0.1", "localhost");
    Location::Postgres(format!("{url}?{parameters}"))
}

/// A database on a server that speaks TLS, and the file of its certificate.
async fn on_tls_server() -> Option<(Folder, String)> {
    let folder = Folder::on_server().await?;
    let client = server::connect(&folder.server.as_ref().unwrap().url).await?;
    let asked = "SELECT current_setting('ssl'), current_setting('ssl_cert_file')";
    let row = client.query_one(asked, &[]).await.unwrap();
    let (is_on, file): (&str, String) = (row.get(0), row.get(1));
    if is_on != "on" {
        println!("skipped: the PostgreSQL server has no TLS (`ssl` is {is_on})");
        return None;
    }
    Some((folder, file))
}

#[tokio::test]
async fn connections_are_secured_where_the_address_says_so() {
    let Some((folder, _)) = on_tls_server().await else { return };
    let key = KeySource::File(folder.key());
    let watch = server::connect(&folder.server.as_ref().unwrap().url).await.unwrap();
    for (parameters, expected) in
        [("sslmode=disable", false), ("sslmode=require", true), ("sslmode=prefer", true)]
    {
        let store = Store::open(&address(&folder, parameters), &key).await.unwrap();
        let asked = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE datname = current_database() AND application_name = 'thinkthrough'";
        let rows = watch.query(asked, &[]).await.unwrap();
        let secured: Vec<bool> = rows.iter().map(|row| row.get(0)).collect();
        assert_eq!(secured, [expected], "{parameters}");
        drop(store);
        // Until the server has noticed.
        while !watch.query(asked, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn t_32_a_certificate_that_nobody_vouches_for_is_refused_when_it_counts() {
    let Some((folder, _)) = on_tls_server().await else { return };
    let key = KeySource::File(folder.key());
    for parameters in
        ["sslmode=verify-full", "sslmode=verify-ca", "sslmode=verify-full&sslrootcert=system"]
    {
        let error = Store::open(&address(&folder, parameters), &key).await.unwrap_err();
        assert!(matches!(error, StoreError::Database { .. }), "{parameters}: {error}");
        assert!(error.to_string().contains("certificate"), "{parameters}: {error}");
    }
    let absent = "sslmode=verify-full&sslrootcert=/nowhere/ca.pem";
    let error = Store::open(&address(&folder, absent), &key).await.unwrap_err();
    assert!(matches!(error, StoreError::File { .. }), "{error}");
}

#[tokio::test]
async fn a_certificate_of_a_named_authority_is_taken() {
    let Some((folder, file)) = on_tls_server().await else { return };
    if std::fs::read(&file).is_err() {
        println!("skipped: the certificate `{file}` of the PostgreSQL server cannot be read here");
        return;
    }
    let key = KeySource::File(folder.key());
    let parameters = format!("sslmode=verify-ca&sslrootcert={file}");
    let opened = Store::open(&address(&folder, &parameters), &key).await;
    assert!(opened.is_ok(), "{opened:?}");
}
