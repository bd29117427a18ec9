//! C-6: the program is killed at any moment, and no finished text is lost.

use super::paced::Paced;
use super::{CTRL_D, Pty};
use crate::place::Place;
use std::time::{Duration, Instant};

/// `THINKTHROUGH_KILLS=500` runs as many as a release must survive.
fn kills() -> usize {
    std::env::var("THINKTHROUGH_KILLS").ok().and_then(|it| it.parse().ok()).unwrap_or(12)
}

/// Numbers that look random and are the same each time.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn c_6_a_killed_chat_loses_nothing_that_was_said() {
    let place = Place::new("kills");
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for kill in 0..kills() {
        let paced = Paced::start();
        let config = place.write("own.toml", &paced.config());
        let mut pty = Pty::chat(&place, &["--config", &config]);
        // Finished turns must be there completely, and the streaming one as far as it was stored by
        // then.
        let rounds = random(&mut seed) % 3;
        let mut said = Vec::new();
        for round in 0..rounds {
            let question = format!("question {kill}.{round}");
            pty.line(&question);
            paced.asked(usize::try_from(round).unwrap() + 1);
            let (thought, answer) =
                (format!("thought {kill}.{round}"), format!("answer {kill}.{round}"));
            paced.think(&thought);
            paced.say(&answer);
            paced.end();
            pty.see(&answer);
            pty.see_no("esc stops");
            said.extend([question, thought, answer]);
        }
        let question = format!("last question {kill}");
        pty.line(&question);
        paced.asked(usize::try_from(rounds).unwrap() + 1);
        said.push(question);
        let pieces = random(&mut seed) % 40;
        let mut streamed = format!("streaming {kill}:");
        paced.think(&streamed);
        for piece in 0..pieces {
            let piece = format!(" p{piece}");
            paced.think(&piece);
            streamed.push_str(&piece);
            std::thread::sleep(Duration::from_micros(random(&mut seed) % 8_000));
        }
        let last = streamed.rsplit(' ').next().unwrap().to_owned();
        pty.see(&last);
        // Every second kill waits until everything is stored, which happens by itself. The others
        // come at once.
        let is_late = kill % 2 == 0;
        if is_late {
            let began = Instant::now();
            while !latest(&place, &config).contains(&streamed) {
                assert!(
                    began.elapsed() < super::PATIENCE,
                    "{streamed} of kill {kill} is never kept"
                );
            }
        }
        std::thread::sleep(Duration::from_micros(random(&mut seed) % 100_000));
        pty.signal("-KILL");
        pty.end();
        let shown = latest(&place, &config);
        for text in &said {
            assert!(shown.contains(text.as_str()), "{text} of kill {kill} is lost:\n{shown}");
        }
        if is_late {
            assert!(shown.contains(&streamed), "{streamed} of kill {kill} is lost:\n{shown}");
        }
    }
    // Every conversation can be continued.
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    let mut pty = Pty::chat(&place, &["--config", &config, "--continue"]);
    pty.see(&format!("last question {}", kills() - 1));
    pty.press(CTRL_D);
    assert!(pty.end().success());
    let list = place.think(&["sessions", "list", "--json", "--config", &config]);
    assert_eq!(list.json().as_array().unwrap().len(), kills());
}

/// The latest conversation, as it is stored.
fn latest(place: &Place, config: &str) -> String {
    let list = place.think(&["sessions", "list", "--json", "--config", config]).json();
    let id = list[0]["id"].as_str().unwrap().to_owned();
    place.think(&["sessions", "show", &id, "--json", "--config", config]).json().to_string()
}
