//! `think ui`: the link to the viewer of a running gateway, and where no link is printed.

use crate::place::Place;
use crate::program::{built, command, think};
use crate::pty::{Begin, Pty};
use crate::serve_config::{Reserved, serve};
use crate::server::{PATIENCE, Server};
use rustix::process::Signal;
use serde_json::json;
use std::os::unix::process::CommandExt as _;
use std::time::{Duration, Instant};

/// A link to the viewer of this gateway.
pub(crate) fn link(gateway: &Server) -> String {
    let ran = think(&["ui", &gateway.addr], b"");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{}", ran.out);
    let link = ran.out.trim_end().to_owned();
    assert!(link.starts_with(&format!("http://{}/ui/#/sign-in/", gateway.addr)), "{link}");
    link
}

/// The answer to a browser that opens a link.
fn opened(gateway: &Server, link: &str) -> String {
    let (_, token) = link.split_once("#/sign-in/").unwrap();
    let headers = "content-type: application/json\r\nx-thinkthrough-viewer: 1\r\n";
    let order = json!({"link": token}).to_string();
    gateway.request("POST", "/ui/api/sign-in", headers, &order)
}

#[test]
fn t_8_a_link_to_the_viewer_is_in_no_log_and_there_is_one_at_a_time() {
    let place = Place::new("links");
    let gateway = serve(&place, "");
    let first = link(&gateway);
    let second = link(&gateway);
    let ended = opened(&gateway, &first);
    assert!(ended.starts_with("HTTP/1.1 401") && ended.contains("`think ui`"), "{ended}");
    let answer = opened(&gateway, &second);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"admin\":true"), "{answer}");
    assert!(opened(&gateway, &second).starts_with("HTTP/1.1 401"), "it was used");
    let third = link(&gateway);
    gateway.signal(Signal::HUP);
    let began = Instant::now();
    while !gateway.said().contains("was read again") {
        assert!(began.elapsed() < PATIENCE, "{}", gateway.said());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(
        opened(&gateway, &third).starts_with("HTTP/1.1 200"),
        "the new configuration ends none"
    );
    let said = gateway.stop();
    assert!(said.contains("/ui/ (`think ui` prints a link)"), "{said}");
    assert!(!said.contains("sign-in"), "{said}");
}

#[test]
fn think_ui_finds_the_gateway_of_the_configuration_and_says_why_it_does_not() {
    let (place, free) = (Place::new("door"), Reserved::new());
    let config = place.write(
        "config.toml",
        "[server]\nadmin_listen = \"0.0.0.0:PORT\"\n"
            .replace("PORT", &free.port.to_string())
            .as_str(),
    );
    let ask = || place.think(&["ui", "--config", &config]);
    let ran = ask();
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    assert!(ran.err.contains(&format!("`0.0.0.0:{}`", free.port)), "{}", ran.err);
    assert!(ran.err.contains("start it"), "{}", ran.err);
    let _gateway =
        Server::run(place.command(&["serve", "--config", &config, "--listen", "127.0.0.1:0"]));
    let began = Instant::now();
    let ran = loop {
        let ran = ask();
        // It says where it listens before it is asked for links.
        if ran.code == Some(0) || began.elapsed() > PATIENCE {
            break ran;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let page = format!("http://127.0.0.1:{}/ui/#/sign-in/", free.port);
    assert!(ran.out.starts_with(&page), "{} {}", ran.out, ran.err);
}

#[test]
fn t_6_another_user_of_the_machine_gets_no_link() {
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: only root can run a program as somebody else");
    }
    let place = Place::new("stranger");
    let gateway = serve(&place, "");
    link(&gateway);
    let mut ui = command(&["ui", &gateway.addr]);
    let Ok(output) = ui.uid(65_534).gid(65_534).output() else {
        return println!("skipped: nobody else may run {}", built());
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("as that user") && output.stdout.is_empty(), "{said}");
}

#[test]
fn on_a_terminal_the_gateway_prints_a_link_and_how_to_connect_an_agent() {
    let place = Place::new("terminal");
    let config = place.write("config.toml", "");
    let begin = Begin { size: (160, 24), ..Begin::default() };
    let args = ["serve", "--config", &config, "--listen", "127.0.0.1:0"];
    let pty = Pty::run(&place, &args, &begin);
    pty.see("think connect claude-code");
    pty.see("/ui/#/sign-in/");
    let gateway = serve(&place, "");
    assert!(!gateway.stop().contains("think connect"));
}
