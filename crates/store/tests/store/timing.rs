//! What the time of a look-up tells, and whom.

use super::Folder;
use super::talk::Talk;
use std::time::Instant;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Key;
use thinkthrough_store::Vault;

on_each_database! {
    t_33_how_long_a_look_up_takes_tells_nothing_of_other_tenants,
}

const TALKS: usize = 12;
/// Of a server, whose answers vary by more than there is to see, it takes so many.
const ROUNDS: usize = 60;
/// Look-ups of which the quickest counts: what comes between one and its end, on a machine that does other things too,
/// has nothing to do with it.
const TRIES: usize = 4;

/// A conversation with thoughts worth reading; `words` tell it from others.
async fn talk(store: &thinkthrough_store::Store, tenant: &Tenant, words: &str) -> Talk {
    let mut talk = Talk::new(store, tenant, words);
    for turn in 0..6 {
        talk.turn(&format!("{words}, question {turn}"), &"thought ".repeat(2_000), "yes").await;
    }
    talk
}

async fn t_33_how_long_a_look_up_takes_tells_nothing_of_other_tenants(folder: Folder) {
    let store = folder.open().await.unwrap();
    let [alice, bob] = ["alice", "bob"].map(|name| Tenant::named(name).unwrap());
    let (mut hers, mut his, mut nobodys) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..TALKS {
        let kept = talk(&store, &alice, &format!("talk {n}")).await;
        hers.push(kept.keys().await);
        // He says the same as she did, and what nobody ever said.
        let mut same = Talk::new(&store, &bob, "b");
        same.said.clone_from(&kept.said);
        his.push(same.keys().await);
        let mut other = Talk::new(&store, &bob, "b");
        other.said.clone_from(&talk_of_nobody(&kept, n));
        nobodys.push(other.keys().await);
    }
    // Bob is somebody here too.
    talk(&store, &bob, "his own").await;
    let (alices, bobs) = (store.vault(&alice), store.vault(&bob));
    let blind = compare((&bobs, &his), (&bobs, &nobodys)).await;
    assert!(blind.abs() < 4.0, "he can tell what she said from the time: z = {blind:.1}");
    // The same measure sees what is there to be seen.
    let seeing = compare((&alices, &hers), (&bobs, &nobodys)).await;
    assert!(seeing > 6.0, "the measure is blind: z = {seeing:.1}");
}

fn talk_of_nobody(like: &Talk, n: usize) -> Vec<thinkthrough_core::content::Content> {
    let mut said = like.said.clone();
    said[0] = super::question(&format!("tale {n}, question 0"));
    said
}

/// How much longer the first look-ups take than the second ones, in standard deviations of their ranks' sum.
async fn compare(one: (&Vault, &[Vec<Key>]), other: (&Vault, &[Vec<Key>])) -> f64 {
    let mut times: Vec<(u128, bool)> = Vec::new();
    for round in 0..ROUNDS {
        for (at, (mine, yours)) in one.1.iter().zip(other.1).enumerate() {
            let mut both = [(one.0, mine, true), (other.0, yours, false)];
            if (round + at) % 2 == 1 {
                both.reverse();
            }
            let mut quickest = [u128::MAX; 2];
            for _ in 0..TRIES {
                for ((vault, keys, _), quickest) in both.iter().zip(&mut quickest) {
                    let began = Instant::now();
                    vault.lookup(keys).await.unwrap();
                    *quickest = began.elapsed().as_nanos().min(*quickest);
                }
            }
            times.extend(
                both.iter().zip(quickest).map(|((_, _, is_first), time)| (time, *is_first)),
            );
        }
    }
    times.sort_unstable();
    let ranks = (1_u32..).zip(&times).filter(|(_, (_, is_first))| *is_first);
    let sum: f64 = ranks.map(|(rank, _)| f64::from(rank)).sum();
    let count = f64::from(u32::try_from(times.len() / 2).unwrap());
    let expected = count * (2.0 * count + 1.0) / 2.0;
    let deviation = (count * count * (2.0 * count + 1.0) / 12.0).sqrt();
    (sum - expected) / deviation
}
