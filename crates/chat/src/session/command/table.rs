//! The commands, their other names, and the keys: the content of the help page.

use super::super::message::Effect;
use super::{Command, export, look, mode, none, only, profile, set, status, talk};

/// All commands, in the order in which help lists them.
pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "thinking",
        arguments: "[show|collapsed|stream_only|off|save]",
        about: "Show or hide all thoughts in this session, the past ones too; `save` keeps it so in your configuration.",
        run: look::thinking,
        words: look::thinking_words,
    },
    Command {
        name: "toggle",
        arguments: "thinking",
        about: "The same as `/thinking` alone.",
        run: look::toggle,
        words: |_, before| only(before, &[("thinking", "show or hide thoughts")]),
    },
    Command {
        name: "set",
        arguments: "[KEY [VALUE]]",
        about: "Change a setting for this session, from the next request on; alone, list them all.",
        run: set::set,
        words: set::words,
    },
    Command {
        name: "unset",
        arguments: "KEY",
        about: "Take back what `/set` said.",
        run: set::unset,
        words: set::unset_words,
    },
    Command {
        name: "effort",
        arguments: "[none|minimal|low|medium|high|xhigh|max|unset]",
        about: "How much the model thinks, and what is sent for it.",
        run: set::effort,
        words: |session, before| set::value_words(session, before, "reasoning.effort"),
    },
    Command {
        name: "cap",
        arguments: "[TOKENS|unlimited|unset]",
        about: "The most tokens that one thought may take; alone, the cap in force.",
        run: set::cap,
        words: |session, before| set::value_words(session, before, "reasoning.maxTokens"),
    },
    Command {
        name: "budget",
        arguments: "",
        about: "What the session has used of its budget of reasoning tokens.",
        run: set::budget,
        words: none,
    },
    Command {
        name: "cost",
        arguments: "",
        about: "What this conversation has cost, and its tokens.",
        run: status::cost,
        words: none,
    },
    Command {
        name: "status",
        arguments: "",
        about: "Model, settings, conversation, folder, store and budget.",
        run: status::status,
        words: none,
    },
    Command {
        name: "tools",
        arguments: "",
        about: "The tools of the model, and their permissions.",
        run: |session, _| session.effect(Effect::ListTools),
        words: none,
    },
    Command {
        name: "mcp",
        arguments: "",
        about: "The configured MCP servers.",
        run: |session, _| session.effect(Effect::ListServers),
        words: none,
    },
    Command {
        name: "profile",
        arguments: "save|load|delete NAME, list",
        about: "Keep settings and the model under a name in your configuration.",
        run: profile::profile,
        words: profile::words,
    },
    Command {
        name: "model",
        arguments: "[NAME]",
        about: "Change the model; alone, choose one from a list.",
        run: talk::model,
        words: none,
    },
    Command {
        name: "system",
        arguments: "[TEXT]",
        about: "Change the instructions for the model, from the next question on; alone, show them.",
        run: talk::system,
        words: none,
    },
    Command {
        name: "explain",
        arguments: "",
        about: "What would be sent now: every decision about a thought with its reason, and the tokens.",
        run: look::explain,
        words: none,
    },
    Command {
        name: "compress",
        arguments: "[undo|at PERCENT|at never]",
        about: "Send a summary in place of the older messages; nothing that was said is lost.",
        run: talk::compress,
        words: |_, before| {
            only(
                before,
                &[("undo", "send everything again"), ("at", "from which share of the window on")],
            )
        },
    },
    Command {
        name: "retry",
        arguments: "",
        about: "Send the last question again; what was answered to it stays in another conversation.",
        run: talk::retry,
        words: none,
    },
    Command {
        name: "undo",
        arguments: "",
        about: "Take back the last question with its answer, and the changes of its tools to files.",
        run: talk::undo,
        words: none,
    },
    Command {
        name: "plan",
        arguments: "[on|off]",
        about: "Plan mode: only tools that read run, until it is off.",
        run: mode::plan,
        words: |_, before| {
            only(before, &[("on", "only tools that read run"), ("off", "all tools may run")])
        },
    },
    Command {
        name: "init",
        arguments: "",
        about: "Let the model write `AGENTS.md` for this folder.",
        run: mode::init,
        words: none,
    },
    Command {
        name: "new",
        arguments: "",
        about: "Begin another conversation.",
        run: talk::new,
        words: none,
    },
    Command {
        name: "sessions",
        arguments: "",
        about: "Choose an earlier conversation and go on with it.",
        run: talk::sessions,
        words: none,
    },
    Command {
        name: "fork",
        arguments: "[TURNS]",
        about: "Go on in a copy of this conversation; with a number, in one without its last turns.",
        run: talk::fork,
        words: none,
    },
    Command {
        name: "delete",
        arguments: "[yes]",
        about: "Delete this conversation for good; asks for `/delete yes`.",
        run: talk::delete,
        words: none,
    },
    Command {
        name: "search",
        arguments: "WORDS [--in thoughts|answers|all]",
        about: "Find words in all conversations.",
        run: talk::search,
        words: talk::search_words,
    },
    Command {
        name: "copy",
        arguments: "[thought|answer]",
        about: "Put the newest answer or thought on the clipboard.",
        run: look::copy,
        words: |_, before| {
            only(before, &[("answer", "the newest answer"), ("thought", "the newest thought")])
        },
    },
    Command {
        name: "mouse",
        arguments: "[on|off]",
        about: "Leave the mouse to the terminal, which selects text with it, or take it back.",
        run: look::mouse,
        words: |_, before| {
            only(before, &[("off", "the terminal selects text"), ("on", "the wheel scrolls")])
        },
    },
    Command {
        name: "theme",
        arguments: "[dark|light|auto]",
        about: "Colours for a dark or a light terminal; alone, the other ones.",
        run: mode::theme,
        words: |_, before| {
            only(
                before,
                &[
                    ("auto", "as the terminal's ground is"),
                    ("dark", "for a dark ground"),
                    ("light", "for a light ground"),
                ],
            )
        },
    },
    Command {
        name: "export",
        arguments: "FILE [--format md|html|jsonl] [--thoughts callout|details|fenced|off] [--mask]",
        about: "Write the conversation to a file; its name ends with `.md`, `.html` or `.jsonl`. `--mask` covers secrets.",
        run: export::export,
        words: export::words,
    },
    Command {
        name: "import",
        arguments: "FILE",
        about: "Go on with a conversation from an exported file, as a new one.",
        run: export::import,
        words: none,
    },
    Command {
        name: "help",
        arguments: "",
        about: "This page.",
        run: |session, _| session.show_help(),
        words: none,
    },
    Command { name: "quit", arguments: "", about: "Leave.", run: talk::quit, words: none },
];

/// Other names of commands.
pub(super) const OTHER_NAMES: &[(&str, &str)] =
    &[("clear", "new"), ("resume", "sessions"), ("exit", "quit"), ("q", "quit")];

/// Beginnings of a message with a meaning, for the help page.
pub(super) const BEGINNINGS: &[(&str, &str)] = &[
    (
        "@PATH",
        "anywhere in a message: send this file with it. Tab completes the path. Quote a path with spaces: `@\"two words.md\"`.",
    ),
    ("!COMMAND", "run this in your shell. The output goes along with the next message."),
    ("exit", "leave. `quit` does the same."),
];

/// Keys, for the help page.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("Enter", "send; on a menu, take its entry"),
    ("Alt-Enter, Shift-Enter, Ctrl-J", "a new line"),
    ("Up, Down", "what you sent before"),
    ("Tab", "write the entry of a menu"),
    ("Ctrl-U", "take back what is written before the cursor"),
    ("Ctrl-_", "undo"),
    ("Ctrl-R", "search what you sent before"),
    ("Ctrl-G", "write in your editor: `$VISUAL`, `$EDITOR` or `vi`"),
    ("Left, Right, Enter", "answer the question of a tool; Enter takes the highlighted answer"),
    ("y, n", "the same by a letter, where nothing follows it for half a second"),
    ("Esc, Ctrl-C", "interrupt: what was said is kept"),
    ("Ctrl-C twice, Ctrl-D", "leave; Ctrl-C only at rest"),
    ("Ctrl-T", "show or hide all thoughts in this session"),
    (
        "Ctrl-O, click",
        "open or fold the newest thought or tool, or the marked one; open a folded paste",
    ),
    ("Alt-Up, Alt-Down", "mark another thought or tool"),
    ("PgUp, PgDn, wheel", "scroll by pages, or by a few lines"),
    ("Ctrl-Up, Ctrl-Down", "scroll by a line"),
    ("Ctrl-Home, Ctrl-End", "scroll to the ends"),
    ("Ctrl-L", "draw everything afresh"),
    ("Ctrl-Z", "suspend; `fg` continues"),
    ("F1", "this page"),
    ("F2", "choose another model"),
    ("F3", "the next higher effort; after the highest the model's own"),
    ("F4", "thinking on or off, for the model itself"),
];
