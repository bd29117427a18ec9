//! The display of thoughts if the configuration also sets it for a model. A saved choice holds
//! after a restart, on the screen, in the settings and in the file.

use super::paced::Paced;
use super::{Begin, CTRL_T, ESC, Pty};
use crate::place::Place;
use std::time::Instant;

/// Three forms of a model's own setting.
const FORMS: [&str; 3] = [
    "[models.own]\nprovider = \"paced\"\nmodel = \"m\"\n[models.own.reasoning]\ndisplay = \"show\"\n",
    "[models]\nown = { provider = \"paced\", model = \"m\", reasoning = { display = \"show\" } }\n",
    "[models.own]\nprovider = \"paced\"\nmodel = \"m\"\nshow_thinking = true\n",
];

struct Desk {
    place: Place,
    config: String,
    pty: Pty,
}

impl Desk {
    /// Checks the setting in every place that shows it.
    #[track_caller]
    fn holds(&self, model: &str, display: &str) {
        self.pty.line("/set reasoning.display");
        let said = format!("reasoning.display: {display} (config)");
        self.pty.see(&said);
        self.pty.line("/set");
        self.pty.see("Settings");
        self.pty.wait("the page", |screen| {
            let text = screen.contents();
            let line = text.lines().find(|line| line.contains("reasoning.display"));
            line.is_some_and(|line| line.contains(display) && line.contains("config"))
        });
        self.pty.press(ESC);
        self.pty.see_no("Settings");
        self.kept(model, display);
    }

    /// Waits until the configuration has this value.
    #[track_caller]
    fn kept(&self, model: &str, display: &str) {
        let args = ["settings", "--json", "-m", model, "--config", &self.config];
        let kept = || {
            let settings = self.place.think(&args).json();
            let all = settings.as_array().unwrap();
            all.iter().find(|it| it["key"] == "reasoning.display").unwrap()["value"].clone()
        };
        // The file is written in the background.
        let began = Instant::now();
        while kept() != display {
            assert!(began.elapsed() < super::PATIENCE, "{} in place of {display}", kept());
        }
    }

    fn save(&self) {
        self.pty.line("/thinking save");
    }

    #[track_caller]
    fn restart(&mut self) {
        self.pty.leave();
        self.pty = begin(&self.place, &["--config", &self.config, "--continue"]);
        self.pty.see("the answer");
    }
}

/// Starts a chat on a large screen.
#[track_caller]
fn begin(place: &Place, args: &[&str]) -> Pty {
    let pty = Pty::begin(place, args, &Begin { size: (100, 120), ..Begin::default() });
    pty.see("ask, or type");
    pty
}

#[test]
fn oq2_what_was_saved_is_remembered_where_the_model_has_a_display_of_its_own() {
    for (at, form) in FORMS.into_iter().enumerate() {
        let place = Place::new(&format!("own-display-{at}"));
        let paced = Paced::start();
        let text = paced.config().replace("paced/m", "own") + form;
        let config = place.write("own.toml", &text);
        let pty = begin(&place, &["--config", &config]);
        let mut desk = Desk { place, config, pty };
        desk.pty.line("one");
        paced.asked(1);
        paced.think("a deep thought");
        paced.say("the answer");
        paced.end();
        desk.pty.see("a deep thought");
        desk.pty.see_no("esc stops");
        desk.holds("own", "show");
        desk.pty.press(CTRL_T);
        desk.pty.see("Thinking blocks: hidden");
        desk.pty.see_no("a deep thought");
        desk.kept("own", "show");
        desk.save();
        desk.holds("own", "off");
        desk.restart();
        assert!(!desk.pty.text().contains("a deep thought"), "{form}:\n{}", desk.pty.text());
        desk.holds("own", "off");
        // At another model and back, the user's last choice holds.
        desk.pty.line("/model sim/default");
        desk.pty.see("now sim/default");
        desk.holds("sim/default", "off");
        // A choice in the session holds for all its models.
        desk.pty.press(CTRL_T);
        desk.pty.see("a deep thought");
        desk.pty.line("/model own");
        desk.pty.see("now own");
        assert!(desk.pty.text().contains("a deep thought"), "{form}:\n{}", desk.pty.text());
        desk.kept("own", "off");
        desk.save();
        desk.kept("own", "show");
        desk.pty.line("/model sim/default");
        desk.pty.see("now sim/default");
        desk.pty.line("/model own");
        desk.pty.wait("own again", |screen| screen.contents().matches("now own").count() >= 2);
        assert!(desk.pty.text().contains("a deep thought"), "{form}:\n{}", desk.pty.text());
        desk.holds("own", "show");
        desk.restart();
        desk.pty.see("a deep thought");
        desk.holds("own", "show");
        desk.pty.leave();
    }
}

#[test]
fn oq2_what_was_saved_last_is_written_however_soon_the_user_leaves() {
    let place = Place::new("last-toggle");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    for (toggles, display) in [(21, "off"), (20, "off"), (1, "show")] {
        let mut pty = Pty::chat(&place, &["--config", &config]);
        pty.press(&CTRL_T.repeat(toggles));
        pty.line("/thinking save");
        pty.see_no("/thinking save");
        pty.leave();
        let kept = std::fs::read_to_string(&config).unwrap();
        assert!(kept.contains(&format!("display = \"{display}\"")), "{toggles}: {kept}");
    }
}
