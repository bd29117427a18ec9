//! `think health`: its output and exit codes.

use crate::place::Place;
use crate::program::think;
use crate::serve_config::serve;
use std::io::{Read, Write};
use std::net::TcpListener;

#[test]
fn a_gateway_that_takes_work_is_fine_and_one_that_is_not_there_is_not() {
    let place = Place::new("health");
    let gateway = serve(&place, "[server]\nkeyless = true\n");
    let url = format!("http://{}", gateway.addr);
    for args in [
        vec!["health", &url],
        vec!["health", &gateway.addr],
        vec![
            "health",
            "--config",
            &place.write("here.toml", &format!("[server]\nlisten = \"{}\"\n", gateway.addr)),
        ],
    ] {
        let ran = place.think(&args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(0), "ok\n"), "{}", ran.err);
    }
    gateway.stop();
    let ran = think(&["health", &url], b"");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
    assert!(ran.err.contains("takes no work") && ran.err.contains("start it"), "{}", ran.err);
}

#[test]
fn a_gateway_that_closes_takes_no_work_and_another_server_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answers = [
        "503 Closing\r\ncontent-length: 8\r\n\r\nclosing\n",
        "200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ];
    let serving = std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 1024];
            assert!(stream.read(&mut head).unwrap() > 0);
            write!(stream, "HTTP/1.1 {answer}").unwrap();
        }
    });
    for said in ["`closing`", "is no gateway"] {
        let ran = think(&["health", &url], b"");
        assert_eq!(ran.code, Some(1));
        assert!(ran.err.contains(said), "{}", ran.err);
    }
    serving.join().unwrap();
}
