use super::*;
use std::fs;
use thinkthrough_core::content::Parameters;
use thinkthrough_json::Extra;
use tokio_util::sync::CancellationToken;

fn toolbox(name: &str) -> (std::path::PathBuf, Toolbox) {
    let root =
        std::env::temp_dir().join(format!("thinkthrough-tools-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(root.join("work/sub")).unwrap();
    fs::write(root.join("outside.txt"), "secret").unwrap();
    fs::write(root.join("work/notes.md"), "First line\nA Needle here\n").unwrap();
    fs::write(root.join("work/sub/data.bin"), [0, 1, 2]).unwrap();
    let toolbox = Toolbox::new(&root.join("work")).unwrap();
    (root, toolbox)
}

fn tool_call(name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: Some("c1".into()),
        name: name.into(),
        parameters: Parameters::from_text(arguments),
        signature: None,
        extra: Extra::default(),
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn run(tools: &Toolbox, call: &ToolCall, may_leave: bool) -> Given {
    let stop = CancellationToken::new();
    wait(tools.run(call, Job { stop: &stop, output: &|_| {}, may_leave }))
}

fn call(tools: &Toolbox, name: &str, arguments: &str) -> (bool, String) {
    let given = run(tools, &tool_call(name, arguments), false);
    (given.is_error, text(&given))
}

fn text(given: &Given) -> String {
    given.result.doc().root().as_str().unwrap().into_owned()
}

fn rule(tools: &Toolbox, name: &str, arguments: &str) -> Rule {
    wait(tools.rule(&tool_call(name, arguments)))
}

fn question(tools: &Toolbox, name: &str, arguments: &str) -> Question {
    match rule(tools, name, arguments) {
        Rule::Ask(question) => *question,
        other => panic!("{other:?}"),
    }
}

#[test]
fn lists_reads_and_searches() {
    let (root, tools) = toolbox("plain");
    assert_eq!(call(&tools, "list_directory", ""), (false, "notes.md\nsub/".into()));
    assert_eq!(call(&tools, "list_directory", r#"{"path":"sub"}"#), (false, "data.bin".into()));
    let (is_error, text) = call(&tools, "read_file", r#"{"path":"notes.md"}"#);
    assert_eq!((is_error, text.as_str()), (false, "First line\nA Needle here\n"));
    let found = call(&tools, "search_files", r#"{"query":"needle"}"#);
    assert_eq!(found, (false, "notes.md:2: A Needle here".into()));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn nothing_outside_the_folder_is_read() {
    let (root, tools) = toolbox("outside");
    #[cfg(unix)]
    std::os::unix::fs::symlink(root.join("outside.txt"), root.join("work/link")).unwrap();
    for path in ["../outside.txt", "/etc/passwd", "sub/../../outside.txt", "link"] {
        let (is_error, text) = call(&tools, "read_file", &format!(r#"{{"path":"{path}"}}"#));
        assert!(is_error && !text.contains("secret"), "{path}: {text}");
    }
    let (_, found) = call(&tools, "search_files", r#"{"query":"secret"}"#);
    assert!(found.starts_with("no line"), "{found}");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn wrong_calls_are_explained_to_the_model() {
    let (root, tools) = toolbox("wrong");
    assert!(call(&tools, "rm", "{}").1.contains("there is no tool `rm`"));
    assert!(call(&tools, "read_file", "{}").1.contains("`path` is missing"));
    assert!(call(&tools, "read_file", "{nope").1.contains("not JSON"));
    assert!(call(&tools, "read_file", r#"{"path":"sub"}"#).1.contains("no file"));
    assert!(call(&tools, "read_file", r#"{"path":"nowhere/x"}"#).1.contains("there is no"));
    assert!(call(&tools, "read_file", r#"{"path":"sub/data.bin"}"#).1.contains("not text"));
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn reading_inside_is_allowed_and_everything_else_is_asked() {
    let (root, tools) = toolbox("rules");
    let allow = Rule::Allow { may_leave: false };
    assert_eq!(rule(&tools, "read_file", r#"{"path":"notes.md"}"#), allow);
    assert_eq!(rule(&tools, "search_files", r#"{"query":"x"}"#), allow);
    let outside = question(&tools, "read_file", r#"{"path":"../outside.txt"}"#);
    assert_eq!(outside.reason.as_deref(), Some("`../outside.txt` is outside the working folder"));
    let edit = r#"{"path":"notes.md","old_text":"First","new_text":"1st"}"#;
    let asked = question(&tools, "edit_file", edit);
    assert_eq!((asked.title.as_str(), asked.reason.clone()), ("edit `notes.md`", None));
    assert_eq!(asked.change.as_ref().unwrap().counts(), (1, 1));
    tools.always(&asked);
    assert_eq!(rule(&tools, "edit_file", edit), allow);
    let away = r#"{"path":"../new.txt","old_text":"","new_text":"x"}"#;
    let away = question(&tools, "edit_file", away);
    assert!(away.reason.is_some() && away.grant != asked.grant, "one does not allow the other");
    let shell = question(&tools, "shell", r#"{"command":"ls -l"}"#);
    assert_eq!((shell.kind, shell.title.as_str()), (ToolKind::Execute, "run `ls -l`"));
    // A call that cannot work is neither asked for nor run, because it might work later and do something else.
    let wrong =
        rule(&tools, "edit_file", r#"{"path":"notes.md","old_text":"nothing","new_text":"x"}"#);
    assert!(matches!(wrong, Rule::Deny(why) if why.contains("does not occur")));
    // A configured permission wins, but the user is still asked before a call leaves the folder.
    let tools = tools.permit("shell", Permission::Deny).permit("edit_file", Permission::Allow);
    assert!(matches!(rule(&tools, "shell", r#"{"command":"ls"}"#), Rule::Deny(_)));
    assert_eq!(
        question(&tools, "edit_file", r#"{"path":"../a","old_text":"","new_text":"x"}"#).tool,
        "edit_file"
    );
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn what_was_allowed_outside_is_done_there() {
    let (root, tools) = toolbox("leave");
    let read = tool_call("read_file", r#"{"path":"../outside.txt"}"#);
    assert_eq!(text(&run(&tools, &read, true)), "secret");
    assert!(run(&tools, &read, false).is_error, "without being allowed it is refused");
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn an_edit_replaces_exactly_one_text_and_shows_the_difference() {
    let (root, tools) = toolbox("edit");
    let notes = root.join("work/notes.md");
    let edit = tool_call(
        "edit_file",
        r#"{"path":"notes.md","old_text":"A Needle","new_text":"The needle"}"#,
    );
    let given = run(&tools, &edit, false);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "First line\nThe needle here\n");
    let shown = text(&given);
    assert!(shown.starts_with("changed `notes.md` (+1 -1)\n"), "{shown}");
    assert!(shown.contains("\n-A Needle here\n+The needle here\n"), "{shown}");
    assert_eq!(given.change.unwrap().old.unwrap(), "First line\nA Needle here\n");
    let made =
        call(&tools, "edit_file", r#"{"path":"new/deep.txt","old_text":"","new_text":"hello\n"}"#);
    assert!(!made.0 && made.1.starts_with("created `new/deep.txt` (+1 -0)"), "{}", made.1);
    assert_eq!(fs::read_to_string(root.join("work/new/deep.txt")).unwrap(), "hello\n");
    fs::write(&notes, "a\na\n").unwrap();
    for (arguments, why) in [
        (r#"{"path":"notes.md","old_text":"a","new_text":"b"}"#, "occurs 2 times"),
        (r#"{"path":"notes.md","old_text":"z","new_text":"b"}"#, "does not occur"),
        (r#"{"path":"notes.md","old_text":"","new_text":"b"}"#, "exists already"),
        (r#"{"path":"notes.md","old_text":"a","new_text":"a"}"#, "are the same"),
        (r#"{"path":"none.md","old_text":"a","new_text":"b"}"#, "there is no `none.md`"),
        (r#"{"path":"sub/data.bin","old_text":"a","new_text":"b"}"#, "does not occur"),
        (r#"{"path":"../x","old_text":"","new_text":"b"}"#, "outside the working folder"),
    ] {
        let (is_error, text) = call(&tools, "edit_file", arguments);
        assert!(is_error && text.contains(why), "{arguments}: {text}");
    }
    let all = r#"{"path":"notes.md","old_text":"a","new_text":"b","replace_all":true}"#;
    assert!(!call(&tools, "edit_file", all).0);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "b\nb\n");
    let left: Vec<_> =
        fs::read_dir(root.join("work")).unwrap().flatten().map(|it| it.file_name()).collect();
    assert_eq!(left.len(), 3, "nothing unfinished is left: {left:?}");
    fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn an_edit_keeps_the_mode_and_follows_no_link_out_of_the_folder() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let (root, tools) = toolbox("links");
    let notes = root.join("work/notes.md");
    fs::set_permissions(&notes, fs::Permissions::from_mode(0o750)).unwrap();
    let edit = r#"{"path":"notes.md","old_text":"First","new_text":"1st"}"#;
    assert!(!call(&tools, "edit_file", edit).0);
    assert_eq!(fs::metadata(&notes).unwrap().permissions().mode() & 0o777, 0o750);
    fs::create_dir(root.join("away")).unwrap();
    symlink(root.join("away"), root.join("work/out")).unwrap();
    symlink(root.join("away/later.txt"), root.join("work/later.txt")).unwrap();
    symlink(root.join("outside.txt"), root.join("work/link.txt")).unwrap();
    for path in ["out/new.txt", "later.txt", "link.txt", "out/../../outside.txt", "sub/../../x"] {
        let arguments = format!(r#"{{"path":"{path}","old_text":"","new_text":"gotcha"}}"#);
        let (is_error, text) = call(&tools, "edit_file", &arguments);
        assert!(is_error, "{path}: {text}");
    }
    assert_eq!(fs::read_to_string(root.join("outside.txt")).unwrap(), "secret");
    assert_eq!(fs::read_dir(root.join("away")).unwrap().count(), 0);
    fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn the_shell_runs_in_the_folder_with_its_code_and_both_streams_in_order() {
    let (root, tools) = toolbox("shell");
    assert_eq!(
        call(&tools, "shell", r#"{"command":"cat notes.md | head -n 1"}"#),
        (false, "First line\n".into())
    );
    assert_eq!(call(&tools, "shell", r#"{"command":"true"}"#), (false, "[no output]".into()));
    let both = call(&tools, "shell", r#"{"command":"echo one; echo two >&2; echo three; exit 3"}"#);
    assert_eq!(both, (true, "one\ntwo\nthree\n[exit status: 3]".into()));
    let (_, env) = call(&tools, "shell", r#"{"command":"env"}"#);
    assert!(env.contains("TERM=dumb"), "{env}");
    assert!(!env.lines().any(|line| line.starts_with("CARGO_REGISTRY_TOKEN=")), "{env}");
    let started = std::time::Instant::now();
    // Long enough for a shell to begin while other programs keep the machine busy.
    let slow = r#"{"command":"echo begun; sleep 600 & sleep 600","timeout_seconds":5}"#;
    assert_eq!(call(&tools, "shell", slow), (true, "begun\n[stopped after 5 s]".into()));
    let aside = call(&tools, "shell", r#"{"command":"sleep 120 & echo done"}"#);
    assert_eq!(aside, (false, "done\n".into()));
    assert!(started.elapsed() < std::time::Duration::from_secs(100), "nobody waits for `sleep`");
    assert!(call(&tools, "shell", "{}").1.contains("`command` is missing"));
    fs::remove_dir_all(root).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_stopped_command_gives_what_it_had_and_takes_its_whole_group_along() {
    let (root, tools) = toolbox("group");
    let command = r#"{"command":"sleep 600 & echo $! > id.txt; echo begun; wait"}"#;
    let shell = tool_call("shell", command);
    let id = || fs::read_to_string(root.join("work/id.txt")).unwrap();
    let stop = CancellationToken::new();
    let output = |text: &str| {
        if text.contains("begun") {
            stop.cancel();
        }
    };
    let given = wait(tools.run(&shell, Job { stop: &stop, output: &output, may_leave: false }));
    assert_eq!(text(&given), "begun\n[stopped by the user]");
    ends(id().trim());
    // Dropping a run kills the group as well.
    let (never, begun) = (CancellationToken::new(), tokio::sync::Notify::new());
    let output = |text: &str| {
        if text.contains("begun") {
            begun.notify_one();
        }
    };
    let job = Job { stop: &never, output: &output, may_leave: false };
    wait(async {
        tokio::select! {
            _ = tools.run(&shell, job) => panic!("nobody ended it"),
            () = begun.notified() => {}
        }
    });
    ends(id().trim());
    fs::remove_dir_all(root).unwrap();
}

/// Waits until a process has ended. A zombie has ended too.
#[cfg(target_os = "linux")]
fn ends(id: &str) {
    let began = std::time::Instant::now();
    loop {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
        let state = status.lines().find_map(|line| line.strip_prefix("State:"));
        if state.is_none_or(|state| state.trim().starts_with(['Z', 'X'])) {
            return;
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "a grandchild goes on");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn plan_mode_lets_only_tools_that_read_run() {
    let (root, tools) = toolbox("plan");
    let tools = tools.attended().permit("shell", Permission::Allow);
    let edit = r#"{"path":"notes.md","old_text":"First","new_text":"Last"}"#;
    tools.plan(true);
    for (name, arguments) in [("shell", r#"{"command":"ls"}"#), ("edit_file", edit)] {
        let Rule::Deny(why) = rule(&tools, name, arguments) else { panic!("{name}") };
        assert!(why.starts_with("plan mode is on"), "{why}");
    }
    let reads = rule(&tools, "read_file", r#"{"path":"notes.md"}"#);
    assert_eq!(reads, Rule::Allow { may_leave: false });
    tools.plan(false);
    assert_eq!(rule(&tools, "shell", r#"{"command":"ls"}"#), Rule::Allow { may_leave: false });
    drop(fs::remove_dir_all(root));
}

#[test]
fn a_change_of_a_tool_is_taken_back() {
    let (root, tools) = toolbox("undo");
    let file = root.join("work/notes.md");
    let before = fs::read_to_string(&file).unwrap();
    tools.changes().begin(3);
    let edit = r#"{"path":"notes.md","old_text":"First","new_text":"Last"}"#;
    let (is_error, said) = call(&tools, "edit_file", edit);
    assert!(!is_error && fs::read_to_string(&file).unwrap() != before, "{said}");
    let lines = tools.changes().undo(&[3]);
    assert!(lines.len() == 1 && lines[0].ends_with("is as it was before"), "{lines:?}");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    drop(fs::remove_dir_all(root));
}
