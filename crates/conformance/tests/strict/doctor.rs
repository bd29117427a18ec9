//! The doctor's scenarios without a gateway: the direct client passes, and the naive one fails as
//! reported.

use thinkthrough_conformance::doctor::{Mark, Ward, scenarios};
use tokio::net::TcpListener;

#[tokio::test(flavor = "multi_thread")]
async fn doctor_every_scenario_passes_for_the_right_client_and_fails_for_the_naive_one() {
    let ward = Ward::open(TcpListener::bind("127.0.0.1:0").await.unwrap()).unwrap();
    let mut wrong = Vec::new();
    for (id, _) in scenarios() {
        let row = ward.examine(&id, None).await.unwrap();
        assert_eq!(row.gateway, Mark::Skip);
        // A client that keeps its thoughts may pass without a gateway.
        let naive = if id.starts_with("keep-") { row.naive } else { Mark::Fail };
        if !row.is_expected || (row.direct, row.naive) != (Mark::Pass, naive) {
            wrong.push(format!("{id}: {:?} {:?} {}", row.direct, row.naive, row.reason));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn doctor_covers_every_text_edge_and_switch() {
    let ids: Vec<String> = scenarios().into_iter().map(|(id, _)| id).collect();
    for row in 1..=24 {
        assert!(ids.contains(&format!("text-{row:02}")), "text {row}");
    }
    for edge in 1..=22 {
        let id = format!("edge-{edge:02}");
        assert!(ids.iter().any(|it| it.starts_with(&id)), "edge {edge}");
    }
    assert_eq!(ids.iter().filter(|id| id.starts_with("switch-")).count(), 64);
    assert_eq!(ids.iter().filter(|id| id.starts_with("keep-")).count(), 80);
    let mut once = ids.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), ids.len());
}
