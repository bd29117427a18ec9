//! Runs the built program.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// The result of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    /// The output as one JSON value; the program must have succeeded.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.code, Some(0), "{}", self.err);
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }

    /// The output as a JSON value a line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// The path of the program: `THINKTHROUGH_THINK`, or else this build.
pub(crate) fn built() -> String {
    std::env::var("THINKTHROUGH_THINK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_think").to_owned())
}

/// The program with these arguments, without variables of the caller's environment that change its
/// output. Its home does not exist, so that it neither reads nor writes files of the person who
/// runs the tests.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(built());
    command.args(args).env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1");
    let home = std::env::temp_dir().join(format!("think-home-{}", std::process::id()));
    for name in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        command.env(name, &home);
    }
    command
}

/// Runs the program with this input.
pub(crate) fn think(args: &[&str], input: &[u8]) -> Ran {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be run");
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that refuses its arguments does not read, so that writing may fail.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}
