//! `think mask`.

use crate::program::{command, think};
use std::io::{Read, Write};
use std::process::Stdio;

/// A key in two parts, so that secret scanners ignore this file.
fn key() -> String {
    format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3))
}

#[test]
fn secrets_go_and_every_other_byte_stays() {
    let text = format!("a \u{1b}\0é {}\r\npassword: hunter2x\r\n", key());
    let ran = think(&["mask"], text.as_bytes());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    let (before, rest) = ran.out.split_once("[masked:github-token:").unwrap();
    assert_eq!(before, "a \u{1b}\0é ");
    assert!(
        rest.contains("]\r\npassword: [masked:password:") && rest.ends_with("]\r\n"),
        "{}",
        ran.out
    );
    // Masked text stays as it is.
    assert_eq!(think(&["mask"], ran.out.as_bytes()).out, ran.out);
    assert_eq!(think(&["mask", "-"], b"").out, "");
}

#[test]
fn each_tier_can_be_left_out() {
    let text = format!("{} password=hunter2x correct-horse", key());
    let masked = |tiers: &str| {
        let mut child = command(&["mask", "--tiers", tiers])
            .env("MY_TOKEN", "correct-horse")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        ["registered", "github-token", "password"]
            .map(|rule| out.contains(&format!("[masked:{rule}:")))
    };
    assert_eq!(masked("0"), [true, false, false]);
    assert_eq!(masked("1"), [false, true, false]);
    assert_eq!(masked("2"), [false, false, true]);
    assert_eq!(masked("0,1,2"), [true, true, true]);
    let wrong = think(&["mask", "--tiers", "7"], b"");
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("0, 1, 2 and 3"), "{}", wrong.err);
}

#[test]
fn the_password_of_an_address_in_the_environment_is_known_by_itself() {
    let mut child = command(&["mask", "--tiers", "0"])
        .env("DATABASE_URL", "postgres://app:stone%21river@db/x")
        .env("PGPASSWORD", "winter-lamp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = b"PGPASSWORD='stone!river' psql; postgres://app:stone%21river@db; winter-lamp";
    child.stdin.take().unwrap().write_all(text).unwrap();
    let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(out.matches("[masked:registered:").count(), 3, "{out}");
    assert!(!out.contains("river") && !out.contains("lamp"), "{out}");
}

#[test]
fn the_counts_of_rules_are_told_on_request() {
    let text = format!("{0} {0} password=hunter2x", key());
    let ran = think(&["mask", "--stats"], text.as_bytes());
    let mut lines: Vec<&str> = ran.err.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1\tpassword", "2\tgithub-token"]);
    assert_eq!(think(&["mask"], text.as_bytes()).err, "");
}

#[test]
fn what_is_clear_comes_out_before_the_input_ends() {
    let mut child =
        command(&["mask"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        output.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let key = key();
    let (one, two) = key.split_at(9);
    input.write_all(format!("before {one}").as_bytes()).unwrap();
    assert_eq!(read(7), "before ");
    input.write_all(format!("{two} behind\n").as_bytes()).unwrap();
    assert!(read("[masked:github-token:abcdef]".len()).starts_with("[masked:github-token:"));
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let ran = think(&["mask", "/no/such/file"], b"");
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("/no/such/file"), "{}", ran.err);
}
