//! Files of a store that are damaged, cut, or of another version: traffic goes on, and no trace
//! that was committed is lost.

use crate::place::Place;
use crate::serve_config::serve;
use crate::serve_faults::{all_there, ask, figure, state, until, with_little_room};
use crate::serve_kills::{first_turn, post, trace_of, traces_of};
use crate::serve_shared::IN_A_FILE;
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Without keys, so that a broken store refuses no caller.
const KEYLESS: &str = "[server]\nkeyless = true\n[store]\nurl = \"sqlite:kept.db\"\n";

/// The files of the store of this place.
fn files(place: &Place) -> Vec<PathBuf> {
    let all = fs::read_dir(place.home()).unwrap().map(|it| it.unwrap().path());
    all.filter(|path| path.is_file() && !path.ends_with("config.toml")).collect()
}

/// Another place with these files.
fn copy_of(files: &[PathBuf], name: &str) -> Place {
    let place = Place::new(name);
    for file in files {
        fs::copy(file, place.file(file.file_name().unwrap().to_str().unwrap())).unwrap();
    }
    place
}

fn size(path: impl AsRef<Path>) -> u64 {
    fs::metadata(path).map_or(0, |file| file.len())
}

/// Writes over a part of a file.
fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

fn cut(path: &Path, len: u64) {
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

/// Numbers that look drawn, and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most.max(1)
    }
}

/// Whether a request gets its whole answer, whatever the store is like.
fn goes_on(gateway: &Server, which: u32) {
    let answer = post(&gateway.addr, &first_turn(which)).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("[DONE]"), "{answer}");
}

/// Damages a database in one of six ways. Returns a description of the damage.
fn damage(round: u64, dice: &mut Dice, db: &Path) -> String {
    let len = size(db);
    match round % 6 {
        0 => {
            let (at, bytes) = (dice.below(len), [u8::try_from(dice.below(256)).unwrap(); 16]);
            overwrite(db, at, &bytes[..usize::try_from(16.min(len - at)).unwrap()]);
            format!("bytes at {at}")
        }
        1 => {
            let page = dice.below(len / 4096);
            overwrite(db, page * 4096, &[0; 4096]);
            format!("page {page} is empty")
        }
        2 => {
            let left = dice.below(len);
            cut(db, left);
            format!("{left} bytes of {len} are left")
        }
        3 => {
            let at = dice.below(100);
            overwrite(db, at, &[0xFF]);
            format!("byte {at} of its head")
        }
        4 => {
            let (page, at) = (dice.below(len / 4096), dice.below(8));
            overwrite(db, page * 4096 + at, &[0x5A; 8]);
            format!("head of page {page}")
        }
        _ => {
            overwrite(db, 68, b"abcd");
            "another program's mark".to_owned()
        }
    }
}

#[test]
fn d_4_whatever_is_wrong_with_the_file_traffic_goes_on_and_it_is_said() {
    let place = Place::new("damaged");
    let gateway = serve(&place, KEYLESS);
    let answers = ask(&gateway, 0, 30);
    until(&gateway, &answers, "stored");
    gateway.signal(Signal::TERM);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    let (files, mut dice) = (files(&place), Dice(1));
    let (mut whole, mut named) = (0, 0);
    for round in 0..36 {
        let copy = copy_of(&files, "damaged-copy");
        let what = damage(round, &mut dice, Path::new(&copy.file("kept.db")));
        let gateway = serve(&copy, KEYLESS);
        (0..3).for_each(|which| goes_on(&gateway, 1_000 + which));
        let metrics = gateway.request("GET", "/metrics", "", "");
        assert!(metrics.contains("\nthinkthrough_panics_total 0\n"), "{what}: {metrics}");
        let listed =
            copy.think(&["traces", "list", "--json", "--config", &copy.file("config.toml")]);
        let said = gateway.stop();
        assert!(!said.contains("panicked") && !listed.err.contains("panicked"), "{what}: {said}");
        // Either all traces are found, or the operator gets an error.
        let found = listed.code == Some(0)
            && answers.iter().all(|answer| listed.out.contains(&trace_of(answer).unwrap()));
        let is_named = [&said, &listed.err].iter().any(|it| it.contains("damaged"))
            || metrics.contains("\nthinkthrough_store_up 0\n");
        assert!(found || is_named, "{what}: nobody is told: {} {}", listed.out, listed.err);
        whole += u32::from(found);
        named += u32::from(is_named);
    }
    println!("36 damaged files: {whole} with all their traces, {named} that were complained about");
    assert!(whole > 0 && named > 0, "{whole} {named}");
}

#[test]
fn d_3_a_write_that_ends_anywhere_in_the_middle_loses_nothing_that_was_acknowledged() {
    let place = Place::new("short-writes");
    let gateway = with_little_room(&place);
    let mut answers = ask(&gateway, 0, 3);
    until(&gateway, &answers, "stored");
    let mut dice = Dice(7);
    for round in 0..24 {
        // The n-th write from here on is a short one, and every one after it fails.
        let largest = files(&place).iter().map(size).max().unwrap();
        let log = size(place.file("kept.db-wal"));
        let room = if round % 2 == 0 { log } else { largest } + dice.below(40_000);
        gateway.limit_files(Some(room));
        let more = ask(&gateway, 10 + round * 10, 4);
        std::thread::sleep(Duration::from_millis(dice.below(60)));
        gateway.limit_files(None);
        answers.extend(more);
    }
    until(&gateway, &answers, "stored");
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    gateway.signal(Signal::KILL);
    drop(gateway);
    let _gateway = serve(&place, IN_A_FILE);
    all_there(&place, &answers);
}

#[test]
fn d_3_a_file_that_is_cut_under_a_running_gateway_stops_no_traffic() {
    let place = Place::new("cut-under-it");
    let gateway = serve(&place, KEYLESS);
    let answers = ask(&gateway, 0, 10);
    until(&gateway, &answers, "stored");
    let db = place.file("kept.db");
    overwrite(Path::new(&db), 0, &vec![0xAA; usize::try_from(size(&db)).unwrap()]);
    (0..20).for_each(|which| goes_on(&gateway, 100 + which));
    let metrics = gateway.request("GET", "/metrics", "", "");
    assert!(metrics.contains("\nthinkthrough_panics_total 0\n"), "{metrics}");
    assert!(!gateway.said().contains("panicked"), "{}", gateway.said());
}

#[test]
fn d_6_a_reader_that_takes_long_stops_no_trace_and_the_log_is_used_anew_after_it() {
    let place = Place::new("long-reader");
    let gateway = serve(&place, IN_A_FILE);
    let mut answers = ask(&gateway, 0, 5);
    until(&gateway, &answers, "stored");
    let reader = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM reasoning_traces;").unwrap();
    let count = || {
        let sql = "SELECT count(*) FROM reasoning_traces";
        reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let before = count();
    // No checkpoint can move the log into the file, so that it grows beyond its usual size.
    let log = || size(place.file("kept.db-wal"));
    let mut round = 1;
    while log() < 36 << 20 {
        assert!(round < 60, "the log has {} bytes", log());
        let more = ask(&gateway, round * 100, 100);
        until(&gateway, &more, "stored");
        answers.extend(more);
        round += 1;
    }
    assert_eq!(count(), before, "it reads what was there when it began");
    let grown = log();
    reader.execute_batch("COMMIT").unwrap();
    drop(reader);
    // As much again: the log begins anew, and does not grow.
    for more in 1..=round {
        let more = ask(&gateway, (round + more) * 100, 100);
        until(&gateway, &more, "stored");
        answers.extend(more);
    }
    println!("the log had {grown} bytes behind the reader and {} later", log());
    assert!(log() <= 64 << 20, "{grown} {}", log());
    assert_eq!(figure(&gateway, "thinkthrough_traces_lost_total "), 0);
    let reader = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    let sql = "SELECT count(DISTINCT id) FROM reasoning_traces";
    let rows = reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(usize::try_from(rows).unwrap(), answers.len());
}

/// Damages the bytes after `from` as a loss of power could, in one of three ways.
fn lose(dice: &mut Dice, file: &Path, from: u64) {
    let len = size(file);
    if len <= from {
        return;
    }
    let at = from + dice.below(len - from);
    match dice.below(3) {
        0 => cut(file, at),
        1 => overwrite(file, at, &vec![0; usize::try_from(len - at).unwrap()]),
        // A block in the middle was not written, and those behind it were.
        _ => {
            let count = (1 + dice.below(4_096)).min(len - at);
            overwrite(file, at, &vec![0; usize::try_from(count).unwrap()]);
        }
    }
}

#[test]
fn k_2_after_a_loss_of_power_everything_that_was_committed_is_there_and_nothing_twice() {
    let place = Place::new("power");
    let gateway = serve(&place, IN_A_FILE);
    let answers = ask(&gateway, 0, 12);
    until(&gateway, &answers, "stored");
    // The bytes in the files by now are committed.
    let log = PathBuf::from(place.file("kept.db-wal"));
    let (safe, database) = (fs::read(&log).unwrap(), fs::read(place.file("kept.db")).unwrap());
    let later = ask(&gateway, 100, 25);
    std::thread::sleep(Duration::from_millis(20));
    gateway.signal(Signal::KILL);
    drop(gateway);
    let files = files(&place);
    assert!(fs::read(&log).unwrap().starts_with(&safe), "the log begins anew");
    assert!(fs::read(place.file("kept.db")).unwrap() == database, "the log was moved");
    assert!(size(&log) > safe.len() as u64, "nothing was written behind it");
    let (mut dice, mut kept) = (Dice(3), Vec::new());
    for state in 0..24 {
        let copy = copy_of(&files, "power-copy");
        for file in self::files(&copy) {
            let name = file.file_name().unwrap().to_str().unwrap();
            match name {
                "kept.db-wal" => lose(&mut dice, &file, safe.len() as u64),
                // An index of the log, which is made anew.
                "kept.db-shm" => fs::remove_file(&file).unwrap(),
                _ if name.contains(".journal-") || name.contains(".traces-") => {
                    lose(&mut dice, &file, 0);
                }
                _ => {}
            }
        }
        let gateway = serve(&copy, IN_A_FILE);
        goes_on(&gateway, 5_000 + state);
        let there = traces_of(&copy);
        assert!(there.values().all(|count| *count == 1), "state {state}: {there:?}");
        for answer in &answers {
            assert!(there.contains_key(&trace_of(answer).unwrap()), "state {state}: {answer}");
        }
        kept.push(later.iter().filter(|it| there.contains_key(&trace_of(it).unwrap())).count());
        let said = gateway.stop();
        assert!(!said.contains("panicked"), "state {state}: {said}");
    }
    println!("of 25 that were not said to be committed, so many were there: {kept:?}");
}

/// Sets the version of the schema. Returns the one before.
fn schema(place: &Place, version: i64) -> i64 {
    let database = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    database.busy_timeout(PATIENCE).unwrap();
    let was = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database.pragma_update(None, "user_version", version).unwrap();
    was
}

#[test]
fn k_9_while_a_newer_gateway_changes_the_store_an_older_one_goes_on_and_its_restart_is_refused() {
    let place = Place::new("versions");
    let gateway = serve(&place, IN_A_FILE);
    let mut answers = ask(&gateway, 0, 5);
    until(&gateway, &answers, "stored");
    // The changes of a newer version at its start: a new column, and its version number.
    let known = schema(&place, 99);
    let newer = rusqlite::Connection::open(place.file("kept.db")).unwrap();
    newer.busy_timeout(PATIENCE).unwrap();
    newer.execute_batch("ALTER TABLE reasoning_traces ADD COLUMN newest TEXT").unwrap();
    let more = ask(&gateway, 10, 10);
    until(&gateway, &more, "stored");
    answers.extend(more);
    gateway.signal(Signal::TERM);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    // After a restart the program reports the newer store, ends, and leaves it unchanged.
    let before = fs::read(place.file("kept.db")).unwrap();
    let config = place.file("config.toml");
    for command in
        [&["serve", "--listen", "127.0.0.1:0"][..], &["traces", "list"], &["keys", "list"]]
    {
        let args = [command, &["--config", config.as_str()]].concat();
        let began = Instant::now();
        let ran = place.think(&args);
        assert_ne!(ran.code, Some(0), "{args:?}");
        let words = format!("has schema 99 and this version knows up to {known}");
        assert!(ran.err.contains(&words) && ran.err.contains("newer `think`"), "{}", ran.err);
        assert!(began.elapsed() < PATIENCE);
    }
    assert!(fs::read(place.file("kept.db")).unwrap() == before, "it was changed");
    // If the newer version declares that this one works with its tables, a return to this one is
    // possible.
    newer.execute_batch("INSERT INTO thinkthrough_schema VALUES (99, 1)").unwrap();
    let gateway = serve(&place, IN_A_FILE);
    goes_on(&gateway, 30);
    all_there(&place, &answers);
    gateway.signal(Signal::TERM);
    assert!(gateway.ends(PATIENCE).0);
    assert_eq!(schema(&place, 99), 99, "the newer version's tables stay its own");
    // With its own version number again, the program still finds the data of the meantime.
    schema(&place, known);
    let gateway = serve(&place, IN_A_FILE);
    goes_on(&gateway, 50);
    all_there(&place, &answers);
    assert_eq!(state(&gateway, &answers[0]), "stored");
}

#[test]
fn d_4_a_thought_that_no_store_could_take_is_told_and_counted() {
    let place = Place::new("damage-from-the-start");
    fs::write(place.file("kept.db"), "this is no database\n".repeat(600)).unwrap();
    let gateway = serve(&place, KEYLESS);
    let streamed = post(&gateway.addr, &first_turn(1)).unwrap();
    assert!(streamed.contains(": this answer ended before its thoughts were saved"), "{streamed}");
    let mut whole = first_turn(2);
    whole["stream"] = false.into();
    let whole = post(&gateway.addr, &whole).unwrap();
    assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("unsaved=1"), "{whole}");
    assert_eq!(figure(&gateway, "thinkthrough_unsaved_total"), 2);
    // This caller wants no storage, so that the gateway counts no loss.
    let asked = first_turn(3).to_string();
    let off = "content-type: application/json\r\nx-thinkthrough-store: off\r\n";
    let kept_nowhere = gateway.request("POST", "/v1/chat/completions", off, &asked);
    assert!(!kept_nowhere.contains("saved"), "{kept_nowhere}");
    assert_eq!(figure(&gateway, "thinkthrough_unsaved_total"), 2);
}

#[test]
fn d_4_a_store_that_refuses_thoughts_for_damage_says_so_and_where_they_wait() {
    let place = Place::new("refused-for-damage");
    let gateway = serve(&place, KEYLESS);
    until(&gateway, &ask(&gateway, 0, 3), "stored");
    gateway.signal(Signal::TERM);
    assert!(gateway.ends(PATIENCE).0);
    let db = PathBuf::from(place.file("kept.db"));
    let whole = fs::read(&db).unwrap();
    // No reader uses this page, but every new record goes there.
    let page: u32 = {
        let database = rusqlite::Connection::open(&db).unwrap();
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'record_thread'";
        database.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    overwrite(&db, u64::from(page - 1) * 4096, &[0x5A; 4096]);
    let gateway = serve(&place, KEYLESS);
    goes_on(&gateway, 10);
    let began = Instant::now();
    let sentence = "until then what it does not take waits in";
    while !gateway.said().contains(sentence) {
        assert!(began.elapsed() < PATIENCE, "nobody is told: {}", gateway.said());
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = gateway.said();
    let line = said.lines().find(|line| line.contains(sentence)).unwrap();
    assert!(line.contains("damaged") && line.contains("restore the store from a backup"), "{line}");
    goes_on(&gateway, 11);
    assert_eq!(figure(&gateway, "thinkthrough_store_up "), 1);
    assert_eq!(figure(&gateway, "thinkthrough_store_writable "), 0);
    assert_eq!(figure(&gateway, "thinkthrough_unsaved_total "), 0);
    gateway.signal(Signal::TERM);
    let (_, said) = gateway.ends(PATIENCE);
    assert_eq!(said.matches(sentence).count(), 1, "{said}");
    let left = format!("2 thoughts wait in `{}.journal-*`", db.display());
    assert!(said.contains(&left), "{left}: {said}");
    // The backup comes back, and the next start stores the waiting records.
    for file in ["kept.db-wal", "kept.db-shm"] {
        drop(fs::remove_file(place.file(file)));
    }
    fs::write(&db, whole).unwrap();
    let gateway = serve(&place, KEYLESS);
    goes_on(&gateway, 12);
    until(&gateway, &ask(&gateway, 13, 1), "stored");
    let said = gateway.stop();
    assert!(!said.contains(" wait"), "{said}");
    let database = rusqlite::Connection::open(&db).unwrap();
    let records = "SELECT count(*) FROM record";
    assert_eq!(database.query_row(records, [], |row| row.get(0)), Ok(7_i64));
}
