//! The web page in a browser: suites in Python (`tests/browser/run.py`) drive a headless Chromium.

use crate::program::command;
use serde_json::Value;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// The exit code of a suite if there is no browser.
const NO_BROWSER: i32 = 77;

/// Runs suites, or single checks of them. Prints a note if there is no browser.
#[track_caller]
fn browse(suites: &[&str]) {
    let mut run = Command::new("python3");
    run.arg("tests/browser/run.py").args(suites).arg("--think").arg(env!("CARGO_BIN_EXE_think"));
    let Ok(ran) = run.output() else { return println!("skipped: `python3` is absent") };
    if ran.status.code() == Some(NO_BROWSER) {
        return println!("skipped: a browser is absent; install Debian's `chromium`");
    }
    let said = String::from_utf8_lossy(&ran.stdout);
    said.lines().filter(|line| line.starts_with("skipped")).for_each(|line| println!("{line}"));
    assert!(ran.status.success(), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn delimiter_dom_container_state_and_count_stand_on_elements_of_the_page() {
    browse(&["element.dom", "element.states"]);
}

#[test]
fn delimiter_toggle_a_click_is_one_event_on_the_toggle_and_on_the_window() {
    browse(&["element.toggle", "element.keyboard", "export.page"]);
}

#[test]
fn delimiter_vectors_the_browser_splits_as_the_binary_does() {
    browse(&["element.vectors"]);
    let vectors = include_str!("../../fixtures/delimiter.tsv");
    for row in vectors.lines().filter(|line| !line.starts_with('#')) {
        let [mode, message, expected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("three cells: {row}")
        };
        let message: String = serde_json::from_str(message).unwrap();
        let expected: Value = serde_json::from_str(expected).unwrap();
        let flag = format!("--{mode}");
        let flags: &[&str] = if mode == "plain" { &[] } else { &[&flag] };
        assert_eq!(split(flags, &message), expected, "{row}");
    }
}

#[test]
fn t_19_a_message_with_markup_stays_text_and_a_growing_thought_is_followed() {
    browse(&["element.hostile", "element.live", "element.together"]);
}

#[test]
fn t_8_t_25_the_viewer_lets_in_whoever_has_the_link_once_or_a_key_and_shows_what_is_theirs() {
    browse(&["viewer_door"]);
}

#[test]
fn the_viewer_shows_a_request_from_its_arrival_on_while_it_thinks_and_answers() {
    browse(&["viewer_live"]);
}

#[test]
fn the_viewer_finds_the_thought_behind_an_answer_in_two_clicks() {
    browse(&["viewer_traces"]);
}

#[test]
fn the_viewer_shows_sums_and_the_house_and_asks_before_it_deletes() {
    browse(&["viewer_house"]);
}

#[test]
fn the_viewer_fits_and_can_be_read_dark_and_light_narrow_and_wide() {
    browse(&["viewer_looks"]);
}

#[test]
fn t_19_t_20_nothing_that_a_model_says_runs_or_loads_in_the_viewer() {
    browse(&["viewer_hostile"]);
}

#[test]
fn v_4_no_secret_stands_in_the_pages_of_the_viewer() {
    browse(&["viewer_canary"]);
}

#[test]
fn the_scripts_of_the_page_have_the_types_that_they_say() {
    browse(&["scripts.types"]);
}

fn split(flags: &[&str], message: &str) -> Value {
    let mut run = command(&["split"]);
    let mut run = run.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    run.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    serde_json::from_slice(&run.wait_with_output().unwrap().stdout).unwrap()
}
