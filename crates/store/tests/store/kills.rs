//! C-6 and K-1: a process that is killed at any moment loses nothing that was acknowledged.

use super::talk::Talk;
use super::{Folder, local, question, titled};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use thinkthrough_core::content::{Block, Content, Speaker, Thinking};
use thinkthrough_core::plane::Tenant;

/// The folder that the process to be killed works in; set in that process only.
const FOLDER: &str = "THINK_STORE_TEST_FOLDER";

/// What is said as message `n`.
fn said(n: usize) -> Content {
    Content::text(Speaker::Ai, format!("message {n} {}", "x".repeat(n * 97 % 9000)))
}

/// Runs in the process to be killed: appends, keeps an answer in progress, and tells each time what is safe now.
#[tokio::test]
async fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        // Without a folder this is the test that a store can be written at all, which the killed process does.
        let folder = Folder::new();
        let conversations = local(&folder).await;
        let id = conversations.create(&titled("t")).await.unwrap();
        assert_eq!(conversations.append(&id, &[said(0)]).await, Ok(1));
        return;
    };
    let folder = Folder::at(folder.into());
    let conversations = local(&folder).await;
    let id = match conversations.latest().await.unwrap() {
        Some(summary) => summary.id,
        None => conversations.create(&titled("t")).await.unwrap(),
    };
    let whole = conversations.resume(&id).await.unwrap();
    assert_eq!(whole.damaged, []);
    let mut out = std::io::stdout();
    let mut messages = whole.contents.len();
    loop {
        conversations.append(&id, &[said(messages)]).await.unwrap();
        messages += 1;
        writeln!(out, "safe {messages}").unwrap();
        let mut draft = conversations.draft(&id, None).await.unwrap();
        let mut thought = String::new();
        for _ in 0..3 {
            thought.push_str("a piece of thought, ");
            let block = Block::Thinking(Thinking::new(thought.clone(), "thinking"));
            draft.record(&[block]).await.unwrap();
            writeln!(out, "thought {messages} {}", thought.len()).unwrap();
        }
        draft.finish(&[said(messages)]).await.unwrap();
        messages += 1;
        writeln!(out, "safe {messages}").unwrap();
    }
}

#[tokio::test]
async fn c_6_five_hundred_kills_lose_nothing_that_was_acknowledged() {
    let folder = Folder::new();
    let mut drafts = 0;
    let mut safe = 0;
    let mut thought = None;
    for round in 0..500 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::writes_until_it_is_killed", "--nocapture"])
            .env(FOLDER, &folder.path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // A different place each time: after so many lines, and a moment more.
        let after = round * 7 % 11;
        let mut told = lines.by_ref().map(Result::unwrap).filter(|line| is_report(line));
        for line in told.by_ref().take(after) {
            remember(&line, &mut safe, &mut thought);
        }
        let moment = u64::try_from(round * 131 % 900).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(moment));
        child.kill().unwrap();
        told.for_each(|line| remember(&line, &mut safe, &mut thought));
        let status = child.wait().unwrap();
        assert_eq!(status.code(), None, "round {round}: it ended by itself, so something is amiss");
        if !folder.file().exists() {
            continue;
        }
        if round % 10 != 0 && round < 490 {
            // The next process opens it, and ends itself if anything is amiss.
            continue;
        }
        let conversations = local(&folder).await;
        let Some(summary) = conversations.latest().await.unwrap() else { continue };
        let whole = conversations.load(&summary.id).await.unwrap();
        assert_eq!(whole.damaged, [], "round {round}");
        assert!(whole.contents.len() >= safe, "round {round}: {} of {safe}", whole.contents.len());
        if let Some((messages, len)) =
            thought.filter(|(messages, _)| *messages == whole.contents.len())
        {
            let kept: usize =
                whole.drafts.iter().flat_map(Content::thoughts).map(|it| it.thought.len()).sum();
            assert!(kept >= len, "round {round}: {kept} of {len} after message {messages}");
        }
        drafts += whole.contents.iter().filter(|content| content.partial).count();
    }
    assert!(safe > 300 && drafts > 0, "{safe} messages and {drafts} drafts were looked at");
    let conversations = local(&folder).await;
    let id = conversations.latest().await.unwrap().unwrap().id;
    assert!(conversations.append(&id, &[question("still there?")]).await.is_ok());
}

/// The folder that the process to be killed keeps thoughts in; set in that process only.
const VAULT: &str = "THINK_STORE_TEST_VAULT";

/// Runs in the process to be killed: several conversations at once, each of which tells what is safe now.
#[tokio::test]
async fn thinks_until_it_is_killed() {
    let Some(folder) = std::env::var_os(VAULT) else {
        // Without a folder this is the test that thoughts can be kept at all, which the killed process does.
        let store = Folder::new();
        let store = store.open().await.unwrap();
        let mut talk = Talk::new(&store, &Tenant::local(), "a");
        talk.turn("one", "hm", "first").await;
        assert_eq!(talk.restored().await, 1);
        return;
    };
    let folder = Folder::at(folder.into());
    let store = folder.open().await.unwrap();
    let mark = std::env::var("THINK_STORE_TEST_ROUND").unwrap();
    let talks = (0..4).map(|n| {
        let (store, mark) = (store.clone(), format!("{mark}-{n}"));
        tokio::spawn(async move {
            let mut talk = Talk::new(&store, &Tenant::local(), &mark);
            for turn in 1.. {
                talk.turn(&format!("{mark} {turn}"), &format!("thought {turn}"), "yes").await;
                writeln!(std::io::stdout(), "kept {mark} {turn}").unwrap();
            }
        })
    });
    for talk in talks.collect::<Vec<_>>() {
        talk.await.unwrap();
    }
}

#[tokio::test]
async fn k_1_kills_lose_no_thought_that_was_acknowledged() {
    let folder = Folder::new();
    let mut kept = std::collections::BTreeMap::new();
    for round in 0..60 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kills::thinks_until_it_is_killed", "--nocapture"])
            .env(VAULT, &folder.path)
            .env("THINK_STORE_TEST_ROUND", round.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut note = |line: String| {
            if let ["kept", talk, turn] = line.split(' ').collect::<Vec<_>>()[..] {
                // The last line may have been cut by the kill.
                kept.extend(turn.parse::<usize>().ok().map(|turn| (talk.to_owned(), turn)));
            }
        };
        lines.by_ref().take(3 + round * 7 % 23).for_each(&mut note);
        std::thread::sleep(std::time::Duration::from_micros(round as u64 * 131 % 900));
        child.kill().unwrap();
        lines.for_each(&mut note);
        assert_eq!(child.wait().unwrap().code(), None, "round {round}: it ended by itself");
    }
    let store = folder.open().await.unwrap();
    assert!(kept.len() > 150, "{} conversations were begun", kept.len());
    for (mark, turns) in kept {
        let mut talk = Talk::new(&store, &Tenant::local(), &mark);
        for turn in 1..=turns {
            talk.said.push(question(&format!("{mark} {turn}")));
            talk.said.push(Content::text(Speaker::Ai, "yes"));
        }
        assert_eq!(talk.restored().await, turns, "{mark}");
    }
}

/// The test harness prints lines of its own.
fn is_report(line: &str) -> bool {
    line.starts_with("safe ") || line.starts_with("thought ")
}

fn remember(line: &str, safe: &mut usize, thought: &mut Option<(usize, usize)>) {
    let numbers: Vec<usize> = line.split(' ').skip(1).filter_map(|it| it.parse().ok()).collect();
    match *numbers.as_slice() {
        [messages] => (*safe, *thought) = (messages, None),
        [messages, len] => *thought = Some((messages, len)),
        // Cut by the kill.
        _ => {}
    }
}
