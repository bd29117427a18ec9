//! Every kind of client: nothing foreign, and how much of what can be known goes back.

use super::kind::{KINDS, Kind};
use super::tally::{Law, Tally};
use super::world::{SETTINGS, World};
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|value| value.parse().unwrap())
}

/// The tallies of one kind by setting.
type Row = Vec<Tally>;

fn live(kind: Kind, wanted: usize, only: Option<usize>) -> Row {
    let mut row = vec![Tally::default(); SETTINGS.len()];
    let (mut world, mut lookups) = (only.unwrap_or(0), 0);
    while lookups < wanted {
        let mut made = World::new(world as u64, kind);
        made.live(120);
        lookups += made.tally.lookups;
        let at = world % SETTINGS.len();
        let name = format!("{}: world {world} ({})", kind.name, SETTINGS[at].name);
        row[at].add(made.tally, &name);
        world += 1;
        if only.is_some() {
            break;
        }
    }
    row
}

fn sum<'t>(tallies: impl Iterator<Item = &'t Tally>) -> Tally {
    let mut all = Tally::default();
    tallies.for_each(|tally| all.add(tally.clone(), ""));
    all
}

/// Right of possible, in a hundred.
fn share(right: usize, possible: usize) -> String {
    if possible == 0 {
        return "-".to_owned();
    }
    format!("{:.2}", 100.0 * right as f64 / possible as f64)
}

fn line(table: &mut String, name: &str, tally: &Tally) {
    let foreign = tally.count_of(Law::Foreign) + tally.count_of(Law::Less);
    let laws: usize = tally.broken.values().map(|(count, _)| *count).sum();
    writeln!(
        table,
        "| {name} | {} | {} | {} | {} | {} | {} | {foreign} | {} |",
        tally.lookups,
        tally.restored,
        tally.twins,
        tally.possible,
        share(tally.right, tally.possible),
        share(tally.right_by_id, tally.possible_by_id),
        laws - foreign,
    )
    .unwrap();
}

fn table(rows: &[(Kind, Row)]) -> String {
    let mut table = "| kind | looked up | restored | of twins | possible | recall | with own id | foreign | other laws |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (kind, row) in rows {
        line(&mut table, kind.name, &sum(row.iter()));
    }
    for (at, setting) in SETTINGS.iter().enumerate() {
        let name = format!("**{}**", setting.name);
        line(&mut table, &name, &sum(rows.iter().map(|(_, row)| &row[at])));
    }
    line(&mut table, "**all**", &sum(rows.iter().flat_map(|(_, row)| row)));
    table
}

/// Makes the worlds of all kinds, on as many threads as there are processors.
fn make(kinds: &[Kind], wanted: usize, only: Option<usize>) -> Vec<(Kind, Row)> {
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(kind) = kinds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = live(*kind, wanted, only);
                    rows.lock().unwrap().push((*kind, row));
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap();
    rows.sort_by_key(|(kind, _)| KINDS.iter().position(|it| it.name == kind.name));
    rows
}

/// Shown where something is wrong, and where `THINKTHROUGH_MISSES` asks for what was missed.
fn examples(rows: &[(Kind, Row)]) -> String {
    let mut all = String::new();
    for tally in rows.iter().flat_map(|(_, row)| row) {
        for (law, (count, example)) in &tally.broken {
            writeln!(all, "\n{law:?}, {count} times, here in {example}").unwrap();
        }
        if number("THINKTHROUGH_MISSES").is_some() {
            for (by, (count, example)) in &tally.missed {
                writeln!(all, "\nmissed by {by}, {count} times, here in {example}").unwrap();
            }
        }
    }
    all
}

#[test]
fn every_kind_of_client_gets_its_own_thoughts_back_and_no_others() {
    let wanted = number("THINKTHROUGH_LOOKUPS").unwrap_or(10_000);
    let only = number("THINKTHROUGH_WORLD");
    let asked = std::env::var("THINKTHROUGH_KIND").ok();
    let is_asked = |kind: &&Kind| asked.as_deref().is_none_or(|asked| kind.name.contains(asked));
    let kinds: Vec<Kind> = KINDS.iter().filter(is_asked).copied().collect();
    let rows = make(&kinds, wanted, only);
    println!("{}{}", table(&rows), examples(&rows));
    for (kind, row) in &rows {
        let all = sum(row.iter());
        assert!(all.broken.is_empty(), "{}: {:?}", kind.name, all.broken.keys());
        let (right, possible) = (all.right_by_id, all.possible_by_id);
        assert!(right * 1000 >= possible * 999, "{}: {right} of {possible} by id", kind.name);
    }
    let all = sum(rows.iter().flat_map(|(_, row)| row));
    assert!(all.right * 100 >= all.possible * 99, "{} of {}", all.right, all.possible);
}
