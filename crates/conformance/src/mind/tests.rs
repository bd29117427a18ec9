use serde_json::json;

use super::*;

fn tool(name: &str, description: &str, schema: Value) -> Tool {
    Tool { name: name.into(), description: description.into(), schema }
}

fn path_schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})
}

fn file_tools() -> Vec<Tool> {
    vec![
        tool("read", "Read a text file", path_schema()),
        tool(
            "list",
            "List the entries of a directory",
            json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ),
        tool(
            "grep",
            "Search files for a text",
            json!({"type": "object", "properties": {"pattern": {"type": "string"}}, "required": ["pattern"]}),
        ),
    ]
}

fn weather() -> Tool {
    tool(
        "get_weather",
        "Current weather for a city",
        json!({"type": "object", "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city", "unit"]}),
    )
}

fn ask(question: &str, tools: Vec<Tool>) -> Scene {
    Scene {
        simulator: "default",
        said: vec![Said::User(question.into())],
        tools,
        parallel: true,
        thinking: true,
        ..Scene::default()
    }
}

fn step(scene: &mut Scene, results: &[&str]) -> Plan {
    let plan = think(scene);
    scene.said.push(Said::Ai(plan.calls.clone()));
    for (call, text) in plan.calls.iter().zip(results) {
        scene.said.push(Said::Result {
            name: call.name.clone(),
            text: (*text).into(),
            failed: false,
        });
    }
    plan
}

#[test]
fn a_question_about_the_folder_lists_it_and_answers_with_what_is_there() {
    let mut scene = ask("What is in this folder? Think first.", file_tools());
    let first = step(&mut scene, &["Cargo.toml\nsrc/\nREADME.md"]);
    assert_eq!(first.calls.len(), 1);
    assert_eq!(first.calls[0].name, "list");
    assert!(first.thought.contains("folder"));
    let second = think(&scene);
    assert!(second.calls.is_empty());
    assert!(second.text.contains("Cargo.toml") && second.text.contains("README.md"));
    assert_eq!(second.text.matches("simulated").count(), 1);
    assert!(second.thought.contains("list"));
}

#[test]
fn a_question_about_content_reads_a_file_after_the_listing() {
    let mut scene = ask("What is in this folder, and what does the readme say?", file_tools());
    let first = step(&mut scene, &["main.rs\nREADME.md\nsrc/"]);
    assert_eq!(first.calls[0].name, "list");
    let second = step(&mut scene, &["# Hello"]);
    assert_eq!(
        second.calls,
        vec![Call { name: "read".into(), arguments: json!({"path": "README.md"}) }]
    );
    assert!(think(&scene).text.contains("# Hello"));
}

#[test]
fn a_named_file_is_read_at_once_and_a_pattern_is_searched() {
    let plan = think(&ask("Read src/main.rs please", file_tools()));
    assert_eq!(
        plan.calls,
        vec![Call { name: "read".into(), arguments: json!({"path": "src/main.rs"}) }]
    );
    let plan = think(&ask("Search for \"fn main\" here", file_tools()));
    assert_eq!(plan.calls[0].arguments, json!({"pattern": "fn main"}));
}

#[test]
fn two_things_are_called_in_parallel() {
    let plan = think(&ask("Use get_weather for Paris and Rome.", vec![weather()]));
    let cities: Vec<_> = plan.calls.iter().map(|call| call.arguments["city"].clone()).collect();
    assert_eq!(cities, ["Paris", "Rome"]);
    let plan = think(&ask("What is in this folder? Use parallel calls.", file_tools()));
    assert_eq!(plan.calls.len(), 2);
    assert_ne!(plan.calls[0], plan.calls[1]);
    let mut scene = ask("Use get_weather for Paris and Rome.", vec![weather()]);
    scene.parallel = false;
    assert_eq!(think(&scene).calls.len(), 1);
}

#[test]
fn enumerations_and_numbers_come_from_the_words() {
    let plan = think(&ask("Use get_weather for Oslo in fahrenheit.", vec![weather()]));
    assert_eq!(plan.calls[0].arguments, json!({"city": "Oslo", "unit": "fahrenheit"}));
}

#[test]
fn small_talk_calls_no_tool_and_a_forced_choice_always_does() {
    assert!(think(&ask("Hello, how are you today?", file_tools())).calls.is_empty());
    let mut scene = ask("Hello", file_tools());
    scene.choice = Choice::Any;
    assert_eq!(think(&scene).calls.len(), 1);
    scene.choice = Choice::Named("grep".into());
    assert_eq!(think(&scene).calls[0].name, "grep");
    scene.choice = Choice::None;
    assert!(think(&scene).calls.is_empty());
}

#[test]
fn a_thought_is_recognised_at_its_answer_only() {
    let plan = think(&ask("What is in this folder?", file_tools()));
    let here = Visible::of(&plan.text, &plan.calls);
    assert_eq!(judge(&plan.thought, here), Verdict::Own);
    assert_eq!(judge(&plan.thought, Visible::of("other", [])), Verdict::Altered);
    assert_eq!(judge(&plan.thought.replace("folder", "directory"), here), Verdict::Altered);
    assert_eq!(judge("I wonder", here), Verdict::Foreign);
}

#[test]
fn a_token_cap_ends_the_thought_first() {
    let mut scene = ask("What is in this folder?", Vec::new());
    scene.max_tokens = Some(5);
    let plan = think(&scene);
    assert!(plan.truncated && plan.text.is_empty());
    assert_eq!(plan.thought_tokens(), 5);
}

#[test]
fn thinking_off_means_no_thought() {
    let mut scene = ask("What is in this folder?", file_tools());
    scene.thinking = false;
    let plan = think(&scene);
    assert!(plan.thought.is_empty() && plan.calls.len() == 1);
}

#[test]
fn questions_about_the_place_list_it_whatever_the_tools_are_called() {
    let path = path_schema;
    let sets = [
        vec![
            tool("read_file", "Reads a file", path()),
            tool("list_directory", "Lists a directory", path()),
        ],
        vec![tool("Read", "Reads a file", path()), tool("List", "Lists files in a path", path())],
        vec![
            tool("readFile", "Reads a file", path()),
            tool("listDir", "Entries of a folder", path()),
        ],
    ];
    for set in sets {
        for question in [
            "What files are here?",
            "How many files are in src/?",
            "Is there a licence?",
            "Use the tools.",
        ] {
            let plan = think(&ask(question, set.clone()));
            assert_eq!(plan.calls.len(), 1, "{question}");
            assert_eq!(plan.calls[0].name, set[1].name, "{question}");
            let folder = if question.contains("src/") { "src/" } else { "." };
            assert_eq!(plan.calls[0].arguments, json!({"path": folder}));
        }
    }
}

#[test]
fn a_search_takes_what_is_sought_and_a_shell_runs_harmless_commands() {
    let plan = think(&ask("Which of the files mention serde?", file_tools()));
    assert_eq!(plan.calls[0], Call { name: "grep".into(), arguments: json!({"pattern": "serde"}) });
    let shell = tool(
        "run_terminal_cmd",
        "Runs a command",
        json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}),
    );
    let plan = think(&ask("Run the command that lists this folder.", vec![shell.clone()]));
    assert_eq!(plan.calls[0].arguments, json!({"command": "ls"}));
    for question in ["What is in this folder?", "Delete everything!"] {
        assert!(think(&ask(question, vec![shell.clone()])).calls.is_empty(), "{question}");
    }
}

#[test]
fn an_agent_has_at_most_one_look_at_a_time_unless_a_tool_is_named() {
    let text = || json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let tools = [
        tool("Agent", "Starts an agent for any task in a project", text()),
        tool("Bash", "Runs a command in a shell", text()),
        tool("Edit", "Changes a file", text()),
        tool("Read", "Reads a file of the project", path_schema()),
        tool("Glob", "Finds files of the project", path_schema()),
        tool("Write", "Writes a file", text()),
    ];
    for (question, expected) in [
        ("What does this project do?", &["Glob"][..]),
        ("Fix the bug in src/main.rs and write a test in the file tests.rs", &["Read"]),
        ("<note>Use Bash for files.</note>\n\nRead plan.md, then read notes.txt", &["Read"]),
        ("Write me a poem", &[]),
        ("Run the tests of this shell", &[]),
        ("Is this the right tool for me?", &["Glob"]),
        ("Use Bash, then use the tool Write", &["Bash", "Write"]),
        ("Please use the Edit tool", &["Edit"]),
        ("Run the command ls", &["Bash"]),
    ] {
        let plan = think(&ask(question, tools.to_vec()));
        let names: Vec<&str> = plan.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, expected, "{question}");
    }
    let changing: Vec<Tool> = tools.iter().filter(|it| it.name != "Read").cloned().collect();
    let changing: Vec<Tool> = changing.into_iter().filter(|it| it.name != "Glob").collect();
    assert!(think(&ask("Fix the file src/main.rs of this project", changing)).calls.is_empty());
}

#[test]
fn several_arguments_take_several_values() {
    let add = tool(
        "add",
        "Add two numbers",
        json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}),
    );
    for question in ["Use add with 2 and 40", "Use add with 2, 40", "Use add with 2 40"] {
        let plan = think(&ask(question, vec![add.clone()]));
        assert_eq!(plan.calls.len(), 1, "{question}");
        assert_eq!(plan.calls[0].arguments, json!({"a": 2, "b": 40}), "{question}");
    }
}

#[test]
fn a_file_is_no_folder_to_work_in() {
    let schema = json!({
        "type": "object",
        "properties": {"cmd": {"type": "string"}, "workdir": {"type": "string"}},
        "required": ["cmd"]
    });
    let shell = tool("exec_command", "Runs a command in a shell", schema);
    let plan =
        think(&ask("Run the shell command cat notes.txt and tell me what it says.", vec![shell]));
    let arguments = &plan.calls[0].arguments;
    assert!(arguments.get("workdir").is_none(), "{arguments}");
}
