//! The times that a person waits: for the first frame, and for a letter while the model talks fast.
//! The tests print them. The limits are much larger, for an unoptimised program on a busy machine.

use super::paced::Paced;
use super::{Begin, CTRL_C, Pty};
use crate::place::Place;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn told(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{what}: least {:?}, median {:?}, 95 % {:?}, most {:?}",
        at(0),
        at(50),
        at(95),
        at(100)
    );
    at(50)
}

#[test]
fn the_first_frame_is_there_at_once() {
    let place = Place::new("first-frame");
    let mut times = Vec::new();
    for _ in 0..15 {
        let began = Instant::now();
        let mut pty = Pty::begin(&place, &["-m", "sim/default"], &Begin::default());
        pty.see("ask, or type");
        times.push(began.elapsed());
        pty.press(CTRL_C);
        pty.press(CTRL_C);
        pty.end();
    }
    assert!(told("first frame", times) < Duration::from_secs(10));
}

#[test]
fn a_letter_is_echoed_while_a_thousand_deltas_a_second_come_in() {
    let place = Place::new("echo");
    let paced = Arc::new(Paced::start());
    let config = place.write("own.toml", &paced.config());
    let mut pty =
        Pty::begin(&place, &["--config", &config], &Begin { size: (120, 40), ..Begin::default() });
    pty.see("ask, or type");
    pty.line("go");
    paced.asked(1);
    let is_over = Arc::new(AtomicBool::new(false));
    let (says, ends) = (Arc::clone(&paced), Arc::clone(&is_over));
    let talking = std::thread::spawn(move || {
        let (began, mut said) = (Instant::now(), 0_u32);
        while !ends.load(Ordering::Acquire) {
            says.think(" word");
            said += 1;
            let due = began + Duration::from_millis(u64::from(said));
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        (said, began.elapsed())
    });
    pty.see("word word");
    let mut times = Vec::new();
    let mut typed = String::from("› ");
    for at in 0..60_u8 {
        let letter = char::from(b'a' + at % 26);
        typed.push(letter);
        let pressed = Instant::now();
        pty.press(&letter.to_string());
        while !pty.look(|screen| screen.contents().contains(&typed)) {
            assert!(pressed.elapsed() < super::PATIENCE, "{}", pty.text());
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(pressed.elapsed());
        std::thread::sleep(Duration::from_millis(20));
    }
    is_over.store(true, Ordering::Release);
    let (said, took) = talking.join().unwrap();
    println!("{said} deltas in {took:?}");
    let median = told("a letter", times);
    paced.end();
    pty.see_no("esc stops");
    pty.press(CTRL_C);
    pty.leave();
    assert!(median < Duration::from_secs(5), "{median:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn err_003_a_long_thought_costs_memory_in_proportion() {
    const MEGABYTE: usize = 1 << 20;
    let mut most = Vec::new();
    for megabytes in [1, 2, 4] {
        let place = Place::new(&format!("memory-{megabytes}"));
        let paced = Paced::start();
        let config = place.write("own.toml", &paced.config());
        let mut pty = Pty::chat(&place, &["--config", &config]);
        // A count is there once the tables of the tokenizer are, which take more than a thought
        // does.
        pty.see("/?");
        pty.line("go");
        paced.asked(1);
        let line = "what follows from what was said, and what does not\n".repeat(100);
        for _ in 0..megabytes * MEGABYTE / line.len() {
            paced.think(&line);
        }
        paced.say("that is all");
        paced.end();
        pty.see("that is all");
        pty.see_no("esc stops");
        let kilobytes = pty.most_memory();
        println!("a thought of {megabytes} MB: {kilobytes} kB at most");
        most.push(kilobytes);
        pty.leave();
    }
    let [one, two, four] = most[..] else { panic!("three sizes") };
    let (first, second) = (two.saturating_sub(one), four.saturating_sub(two));
    // Twice as much more text may cost twice as much more memory, give or take what allocators
    // keep.
    assert!(second < first * 3 + 32_000, "{most:?}");
}
