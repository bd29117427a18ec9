//! How thoughts are shown, and what of it is written into the configuration.

use super::paced::Paced;
use super::{CTRL_T, Pty};
use crate::place::Place;

#[test]
fn oq2_the_last_toggle_is_what_is_written_however_soon_the_user_leaves() {
    let place = Place::new("last-toggle");
    let paced = Paced::start();
    let config = place.write("own.toml", &paced.config());
    for (toggles, display) in [(21, "off"), (20, "off"), (1, "show")] {
        let mut pty = Pty::chat(&place, &["--config", &config]);
        pty.press(&CTRL_T.repeat(toggles));
        pty.leave();
        let kept = std::fs::read_to_string(&config).unwrap();
        assert!(kept.contains(&format!("display = \"{display}\"")), "{toggles}: {kept}");
    }
}
