use super::*;
use std::fs;

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

fn call(tools: &Toolbox, name: &str, arguments: &str) -> (bool, String) {
    let call = ToolCall {
        id: Some("c1".into()),
        name: name.into(),
        parameters: Parameters::from_text(arguments),
        signature: None,
        extra: Extra::default(),
    };
    let response = tools.call(&call);
    assert_eq!(response.call_id.as_deref(), Some("c1"));
    let text = response.result.doc().root().as_str().unwrap().into_owned();
    (response.is_error, text)
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
    assert!(call(&tools, "read_file", r#"{"path":"sub/data.bin"}"#).1.contains("not text"));
    fs::remove_dir_all(root).unwrap();
}
