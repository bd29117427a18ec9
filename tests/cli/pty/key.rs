//! The first conversation of a user with a key in the environment. The configured address leads to
//! a strict simulated provider behind a socket.

use super::{Begin, Pty};
use crate::place::Place;
use crate::server::Server;

#[test]
fn with_a_key_the_real_provider_is_asked_over_its_address() {
    let sim = Server::start("sim", &[]);
    let place = Place::new("key");
    let url = format!("http://{}/kimi-k3/v1", sim.addr);
    let config =
        format!("[providers.moonshotai]\nextends = \"moonshotai\"\nbase_url = \"{url}\"\n");
    let config = place.write("own.toml", &config);
    let env = [("MOONSHOT_API_KEY", "sk-a-key-of-a-user")];
    let begin = Begin { env: &env, ..Begin::default() };
    // No model is named, so that the key selects the provider.
    let mut pty = Pty::begin(&place, &["--config", &config], &begin);
    pty.see("You talk to moonshotai/kimi-k3 (MOONSHOT_API_KEY is set).");
    assert!(!pty.text().contains("simulated"), "{}", pty.text());
    pty.line("What is in this folder?");
    pty.see("✓ list_directory");
    pty.see("list_directory gave");
    pty.see("Thought for");
    // Its thoughts go back, or this provider refuses.
    pty.line("Read needle.txt.");
    pty.see("✓ read_file");
    pty.see("the needle is blue");
    pty.see_no("esc stops");
    assert!(!pty.text().contains("sk-a-key"), "{}", pty.text());
    pty.leave();
    let log = sim.stop();
    assert!(log.lines().count() >= 4 && log.lines().all(|line| line.contains("-> 200")), "{log}");
    assert!(!log.contains("sk-a-key"), "{log}");
}

#[test]
fn without_the_key_of_the_model_its_name_is_said_and_nothing_is_sent() {
    let place = Place::new("no-key");
    let config = place.write("own.toml", "default_model = \"moonshotai/kimi-k3\"\n");
    let mut pty = Pty::chat(&place, &["--config", &config]);
    pty.line("Hello?");
    pty.see("MOONSHOT_API_KEY");
    // The question is back in the composer, and is deleted first.
    pty.press("\x15");
    pty.leave();
}
