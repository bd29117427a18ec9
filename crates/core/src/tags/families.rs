//! The families. The tag tables of the conformance corpus and the formats that vLLM and SGLang document are the
//! source of each line.

use super::family::{
    Begins, Blank, CodeRule, Family, LoneClose, Marker, Nested, Role, Seam, Unclosed,
};

const fn marker(text: &'static str, role: Role) -> Marker {
    Marker { text, role, at_start: false, until: "" }
}

const fn open(text: &'static str) -> Marker {
    marker(text, Role::Open)
}

const fn close(text: &'static str) -> Marker {
    marker(text, Role::Close)
}

const fn tool(text: &'static str) -> Marker {
    marker(text, Role::Tool)
}

const fn call_end(text: &'static str) -> Marker {
    marker(text, Role::CallEnd)
}

const fn answer(text: &'static str) -> Marker {
    marker(text, Role::Answer)
}

const fn framing(text: &'static str) -> Marker {
    marker(text, Role::Drop)
}

const fn raw(text: &'static str) -> Marker {
    marker(text, Role::Raw)
}

const fn until(text: &'static str, role: Role, until: &'static str) -> Marker {
    Marker { text, role, at_start: false, until }
}

const fn first(text: &'static str, role: Role) -> Marker {
    Marker { text, role, at_start: true, until: "" }
}

/// `<think>`: the base of most families, which differ in a few fields.
const THINK: Family = Family {
    name: "think",
    markers: &[
        open("<think>"),
        open("<Think>"),
        open("<THINK>"),
        close("</think>"),
        close("</Think>"),
        close("</THINK>"),
    ],
    begins: Begins::Unknown,
    unclosed: Unclosed::Thought,
    lone_close: LoneClose::DropLeading,
    nested: Nested::Repeats,
    blank: Blank::NoThought,
    code: CodeRule::Quoted,
    seam: Seam::Plain,
    trim: false,
    drop_lead: true,
    first_only: false,
    joined: false,
    prefix: "",
};

/// A `<think>` model that may begin a tool call without ending its thought.
const THINK_OR_CALL: &[Marker] =
    &[open("<think>"), close("</think>"), tool("<tool_call>"), call_end("</tool_call>")];

/// Models whose template opens the thought.
const INSIDE: Family = Family {
    markers: &[open("<think>"), close("</think>")],
    begins: Begins::Inside,
    lone_close: LoneClose::Text,
    ..THINK
};

/// Any pair of tags that the user names. Both generic splitters of the tag tables fit it.
pub(super) const CUSTOM: Family = Family {
    name: "custom",
    markers: &[],
    begins: Begins::Outside,
    lone_close: LoneClose::Text,
    nested: Nested::Text,
    blank: Blank::Kept,
    seam: Seam::LineWhenLed,
    drop_lead: false,
    ..THINK
};

/// The text of `harmony` after a server removed the special tokens.
pub(super) const HARMONY_STRIPPED: Family = Family {
    name: "harmony",
    markers: &[
        open("assistantanalysis"),
        answer("assistantfinal"),
        answer("assistantcommentary"),
        raw("assistantcommentary to="),
    ],
    begins: Begins::Outside,
    nested: Nested::Restart,
    ..THINK
};

/// Every family by name.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "reasoning",
        markers: &[open("<REASONING>"), close("</REASONING>")],
        begins: Begins::Outside,
        unclosed: Unclosed::Visible,
        lone_close: LoneClose::Text,
        nested: Nested::Depth,
        code: CodeRule::Strict,
        seam: Seam::Trim,
        trim: true,
        first_only: true,
        ..THINK
    },
    THINK,
    Family {
        name: "thinking",
        markers: &[
            open("<thinking>"),
            open("<Thinking>"),
            open("<THINKING>"),
            close("</thinking>"),
            close("</Thinking>"),
            close("</THINKING>"),
        ],
        ..THINK
    },
    Family {
        name: "thought",
        markers: &[
            open("<thought>"),
            open("<Thought>"),
            open("<THOUGHT>"),
            close("</thought>"),
            close("</Thought>"),
            close("</THOUGHT>"),
        ],
        ..THINK
    },
    Family {
        name: "cohere_command",
        markers: &[
            open("<|START_THINKING|>"),
            marker("<|END_THINKING|>\n<|START_RESPONSE|>", Role::CloseAnswer),
            marker("<|END_THINKING|>\n<|START_TEXT|>", Role::CloseAnswer),
            close("<|END_THINKING|>"),
            answer("<|START_RESPONSE|>"),
            answer("<|START_TEXT|>"),
            framing("<|END_RESPONSE|>"),
            framing("<|END_TEXT|>"),
            marker("<|START_ACTION|>", Role::ToolTells),
            call_end("<|END_ACTION|>"),
        ],
        lone_close: LoneClose::Drop,
        trim: true,
        ..THINK
    },
    Family { name: "deepseekr1", ..INSIDE },
    Family { name: "deepseekv3", markers: INSIDE.markers, ..THINK },
    Family {
        name: "ernie45",
        markers: &[
            open("<think>"),
            marker("</think>\n\n<response>\n", Role::CloseAnswer),
            marker("</think>\n\n<response>", Role::CloseAnswer),
            marker("</think>\n<response>\n", Role::CloseAnswer),
            marker("</think>\n<response>", Role::CloseAnswer),
            marker("</think><response>\n", Role::CloseAnswer),
            marker("</think><response>", Role::CloseAnswer),
            close("</think>"),
            marker("\n</response>\n", Role::Unwrap),
            marker("\n</response>", Role::Unwrap),
            marker("</response>", Role::Unwrap),
            tool("<tool_call>"),
            call_end("</tool_call>"),
        ],
        ..INSIDE
    },
    Family {
        name: "gemma4",
        markers: &[
            open("<|channel>thought\n"),
            open("<|channel>"),
            close("<channel|>"),
            framing("<|channel>thought<channel|>"),
            until("<|channel>", Role::Answer, "\n"),
        ],
        lone_close: LoneClose::Drop,
        ..THINK
    },
    Family { name: "glm4_moe", markers: THINK_OR_CALL, ..INSIDE },
    Family {
        name: "granite",
        markers: &[
            first("Here is my thought process:", Role::Open),
            first("Here's my thought process:", Role::Open),
            close("Here is my response:"),
            close("Here's my response:"),
        ],
        begins: Begins::Outside,
        lone_close: LoneClose::Text,
        ..THINK
    },
    Family {
        name: "harmony",
        markers: &[
            first("analysis", Role::Stripped),
            until("<|channel|>analysis", Role::Open, "<|message|>"),
            until("<|start|>assistant<|channel|>analysis", Role::Open, "<|message|>"),
            until("<|channel|>final", Role::Answer, "<|message|>"),
            until("<|start|>assistant<|channel|>final", Role::Answer, "<|message|>"),
            until("<|channel|>commentary", Role::Answer, "<|message|>"),
            until("<|start|>assistant<|channel|>commentary", Role::Answer, "<|message|>"),
            until("<|start|>assistant", Role::Answer, "<|message|>"),
            raw("<|channel|>analysis to="),
            raw("<|channel|>commentary to="),
            raw("<|start|>assistant<|channel|>analysis to="),
            raw("<|start|>assistant<|channel|>commentary to="),
            raw("<|start|>assistant to="),
            close("<|end|>"),
            close("<|return|>"),
            close("<|call|>"),
        ],
        begins: Begins::Outside,
        lone_close: LoneClose::Drop,
        nested: Nested::Restart,
        ..THINK
    },
    Family { name: "holo2", markers: INSIDE.markers, lone_close: LoneClose::Text, ..THINK },
    Family {
        name: "hunyuan",
        markers: &[
            open("<think>\n"),
            open("<think>"),
            marker("\n</think>\n<answer>\n", Role::CloseAnswer),
            marker("\n</think>\n<answer>", Role::CloseAnswer),
            marker("</think>\n<answer>\n", Role::CloseAnswer),
            marker("</think>\n<answer>", Role::CloseAnswer),
            close("\n</think>\n"),
            close("\n</think>"),
            close("</think>\n"),
            close("</think>"),
            first("<answer>\n", Role::Answer),
            first("<answer>", Role::Answer),
            marker("\n</answer>", Role::Unwrap),
            marker("</answer>", Role::Unwrap),
            tool("<tool_calls>"),
            call_end("</tool_calls>"),
        ],
        begins: Begins::Outside,
        ..THINK
    },
    Family { name: "hy_v3", markers: THINK_OR_CALL, ..THINK },
    Family {
        name: "ifm",
        markers: &[
            open("<ifm|think>"),
            open("<ifm|think_fast>"),
            open("<ifm|think_faster>"),
            close("</ifm|think>"),
            close("</ifm|think_fast>"),
            close("</ifm|think_faster>"),
            marker("<ifm|tool_calls>", Role::ToolTells),
            call_end("</ifm|tool_calls>"),
        ],
        blank: Blank::Kept,
        ..THINK
    },
    Family {
        name: "inkling",
        markers: &[
            open("<|message_model|><|content_thinking|>"),
            open("<|content_thinking|>"),
            answer("<|message_model|><|content_text|>"),
            answer("<|content_text|>"),
            raw("<|message_model|>"),
            raw("<|content_invoke_tool_json|>"),
            raw("<|content_invoke_tool_text|>"),
            close("<|end_message|>"),
            close("<|content_model_end_sampling|>"),
        ],
        begins: Begins::Outside,
        lone_close: LoneClose::Drop,
        nested: Nested::Restart,
        ..THINK
    },
    Family {
        name: "apertus",
        markers: &[
            open("<|inner_prefix|>"),
            close("<|inner_suffix|>"),
            raw("<|tools_prefix|>"),
            marker("<|tools_suffix|>", Role::RawEnd),
        ],
        ..THINK
    },
    Family {
        name: "muse",
        markers: &[
            first(" to=self<|message|>", Role::Open),
            first("to=self<|message|>", Role::Open),
            first(" to=user<|message|>", Role::Answer),
            first("to=user<|message|>", Role::Answer),
            first("<|message|>", Role::Answer),
            open("<|start|>assistant to=self<|message|>"),
            answer("<|start|>assistant to=user<|message|>"),
            answer("<|start|>assistant<|message|>"),
            raw("<|start|>assistant to="),
            close("<|eom|>"),
            close("<|eot|>"),
        ],
        begins: Begins::Outside,
        lone_close: LoneClose::Drop,
        nested: Nested::Restart,
        ..THINK
    },
    Family {
        name: "kimi_vl",
        markers: &[open("◁think▷"), close("◁/think▷")],
        begins: Begins::Outside,
        ..THINK
    },
    Family {
        name: "kimi_k2",
        markers: &[
            open("<think>"),
            close("</think>"),
            tool("<|tool_calls_section_begin|>"),
            call_end("<|tool_calls_section_end|>"),
        ],
        ..INSIDE
    },
    Family {
        name: "kimi_k3",
        markers: &[
            open("<|open|>think<|sep|>"),
            close("<|close|>think<|sep|>"),
            answer("<|open|>response<|sep|>"),
            framing("<|close|>response<|sep|>"),
            until("<|open|>message", Role::Drop, "<|sep|>"),
            framing("<|close|>message<|sep|>"),
            framing("<|end_of_msg|>"),
            tool("<|open|>tools<|sep|>"),
            call_end("<|close|>tools<|sep|>"),
        ],
        lone_close: LoneClose::Drop,
        ..INSIDE
    },
    Family {
        name: "minimax_m2",
        markers: &[
            open("<think>"),
            close("</think>"),
            tool("<minimax:tool_call>"),
            call_end("</minimax:tool_call>"),
        ],
        ..INSIDE
    },
    Family {
        name: "minimax_m2_append",
        markers: &[],
        begins: Begins::Outside,
        drop_lead: false,
        prefix: "<think>",
        ..THINK
    },
    Family {
        name: "minimax_m3",
        markers: &[open("<mm:think>"), close("</mm:think>")],
        begins: Begins::Outside,
        ..THINK
    },
    Family {
        name: "mistral",
        markers: &[open("[THINK]"), close("[/THINK]"), tool("[TOOL_CALLS]")],
        begins: Begins::Outside,
        lone_close: LoneClose::Drop,
        ..THINK
    },
    Family { name: "nemotron_v3", markers: THINK_OR_CALL, ..INSIDE },
    Family { name: "olmo3", blank: Blank::Kept, ..INSIDE },
    Family {
        name: "open_thoughts",
        markers: &[
            open("<|begin_of_thought|>"),
            close("<|end_of_thought|>"),
            answer("<|begin_of_solution|>"),
            framing("<|end_of_solution|>"),
        ],
        begins: Begins::Outside,
        lone_close: LoneClose::Drop,
        ..THINK
    },
    Family { name: "qwen3", markers: THINK_OR_CALL, ..INSIDE },
    Family {
        name: "seed_oss",
        markers: &[
            open("<seed:think>"),
            close("</seed:think>"),
            tool("<seed:tool_call>"),
            call_end("</seed:tool_call>"),
        ],
        ..INSIDE
    },
    Family { name: "step3p5", markers: THINK_OR_CALL, ..INSIDE },
    Family {
        name: "extract-reasoning-middleware",
        markers: INSIDE.markers,
        unclosed: Unclosed::Visible,
        seam: Seam::Line,
        joined: true,
        ..CUSTOM
    },
    Family {
        name: "inline-split",
        markers: INSIDE.markers,
        unclosed: Unclosed::Untagged,
        seam: Seam::Plain,
        ..CUSTOM
    },
];
