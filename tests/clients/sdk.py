"""One conversation with one Python SDK: a question that needs tools, and a follow-up.

    python sdk.py CLIENT BASE_URL MODEL

BASE_URL is a root without a version. Prints one JSON line: {"ok": bool, "detail": str}. The loops are written as the
SDKs' own pages write them for people who know nothing of reasoning: what the SDK keeps by itself is kept, the rest
is dropped.
"""

import json
import os
import sys

FILES = {"notes.txt": "Buy milk.", "plan.md": "Ship on Friday."}
FIRST = "Which files are in this folder? Use the tool list_files."
SECOND = "Now read notes.txt with the tool read_file and tell me what it says."
KEY = os.environ.get("MINE_KEY", "sk-client-of-mine")
ROUNDS = 6


def list_files() -> str:
    """List the files of the folder."""
    return "\n".join(FILES)


def read_file(path: str) -> str:
    """Read one file of the folder."""
    return FILES.get(path, f"there is no file {path}")


def run_tool(name, arguments):
    if name == "list_files":
        return list_files()
    if name == "read_file":
        return read_file(arguments.get("path", ""))
    return f"there is no tool {name}"


SCHEMAS = [
    ("list_files", "List the files of the folder.", {"type": "object", "properties": {}}),
    (
        "read_file",
        "Read one file of the folder.",
        {
            "type": "object",
            "properties": {"path": {"type": "string", "description": "name of the file"}},
            "required": ["path"],
        },
    ),
]


def openai_tools():
    return [
        {"type": "function", "function": {"name": n, "description": d, "parameters": p}}
        for n, d, p in SCHEMAS
    ]


def openai_chat(base, model, stream=False):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key=KEY, max_retries=0)
    messages, answers = [], []
    for question in (FIRST, SECOND):
        messages.append({"role": "user", "content": question})
        for _ in range(ROUNDS):
            ask = dict(model=model, messages=messages, tools=openai_tools())
            if stream:
                text, calls = "", {}
                for chunk in client.chat.completions.create(stream=True, **ask):
                    for choice in chunk.choices:
                        text += choice.delta.content or ""
                        for part in choice.delta.tool_calls or []:
                            call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                            call["id"] += part.id or ""
                            call["name"] += part.function.name or ""
                            call["arguments"] += part.function.arguments or ""
                calls = list(calls.values())
            else:
                message = client.chat.completions.create(**ask).choices[0].message
                text = message.content or ""
                calls = [
                    {"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
                    for c in message.tool_calls or []
                ]
            answer = {"role": "assistant", "content": text or None}
            if calls:
                answer["tool_calls"] = [
                    {
                        "id": c["id"],
                        "type": "function",
                        "function": {"name": c["name"], "arguments": c["arguments"]},
                    }
                    for c in calls
                ]
            messages.append(answer)
            if not calls:
                answers.append(text)
                break
            for c in calls:
                result = run_tool(c["name"], json.loads(c["arguments"] or "{}"))
                messages.append({"role": "tool", "tool_call_id": c["id"], "content": result})
    return answers


def openai_chat_stream(base, model):
    return openai_chat(base, model, stream=True)


def openai_responses(base, model, stored=False):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key=KEY, max_retries=0)
    tools = [{"type": "function", "name": n, "description": d, "parameters": p} for n, d, p in SCHEMAS]
    history, answers, previous = [], [], None
    for question in (FIRST, SECOND):
        new = [{"role": "user", "content": question}]
        for _ in range(ROUNDS):
            history += new
            ask = dict(model=model, tools=tools, input=new if stored else history)
            if stored and previous:
                ask["previous_response_id"] = previous
            if not stored:
                ask["store"] = False
            response = client.responses.create(**ask)
            previous = response.id
            calls = [item for item in response.output if item.type == "function_call"]
            # Only what this program knows is kept: calls and texts.
            for item in response.output:
                if item.type == "function_call":
                    history.append(
                        {
                            "type": "function_call",
                            "call_id": item.call_id,
                            "name": item.name,
                            "arguments": item.arguments,
                        }
                    )
                elif item.type == "message":
                    history.append({"role": "assistant", "content": response.output_text})
            if not calls:
                answers.append(response.output_text)
                break
            new = [
                {
                    "type": "function_call_output",
                    "call_id": c.call_id,
                    "output": run_tool(c.name, json.loads(c.arguments or "{}")),
                }
                for c in calls
            ]
    return answers


def openai_responses_stored(base, model):
    return openai_responses(base, model, stored=True)


def thinking_of(model):
    """How this API asks for thinking: its newer models decide themselves how much, and refuse to be told."""
    if any(word in model for word in ("omitted", "bound")):
        return {"type": "adaptive"}
    return {"type": "enabled", "budget_tokens": 2000}


def anthropic_sdk(base, model, keeps=False):
    from anthropic import Anthropic

    client = Anthropic(base_url=base, api_key=KEY, max_retries=0)
    tools = [{"name": n, "description": d, "input_schema": p} for n, d, p in SCHEMAS]
    messages, answers = [], []
    for question in (FIRST, SECOND):
        messages.append({"role": "user", "content": question})
        for _ in range(ROUNDS):
            response = client.messages.create(
                model=model,
                max_tokens=8000,
                thinking=thinking_of(model),
                tools=tools,
                messages=messages,
            )
            blocks = []
            for block in response.content:
                if keeps:
                    blocks.append(block)
                elif block.type == "text":
                    blocks.append({"type": "text", "text": block.text})
                elif block.type == "tool_use":
                    blocks.append(
                        {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
                    )
            messages.append({"role": "assistant", "content": blocks})
            calls = [block for block in response.content if block.type == "tool_use"]
            if not calls:
                answers.append("".join(b.text for b in response.content if b.type == "text"))
                break
            results = [
                {"type": "tool_result", "tool_use_id": c.id, "content": run_tool(c.name, c.input)}
                for c in calls
            ]
            messages.append({"role": "user", "content": results})
    return answers


def anthropic_sdk_keeps(base, model):
    return anthropic_sdk(base, model, keeps=True)


def google_genai(base, model):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=base))
    declarations = [
        types.FunctionDeclaration(name=n, description=d, parameters_json_schema=p) for n, d, p in SCHEMAS
    ]
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=declarations)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    contents, answers = [], []
    for question in (FIRST, SECOND):
        contents.append(types.Content(role="user", parts=[types.Part(text=question)]))
        for _ in range(ROUNDS):
            response = client.models.generate_content(model=model, contents=contents, config=config)
            parts = response.candidates[0].content.parts or []
            calls = [part.function_call for part in parts if part.function_call]
            text = "".join(part.text or "" for part in parts if not part.thought)
            kept = [types.Part.from_function_call(name=c.name, args=c.args or {}) for c in calls]
            if text:
                kept.insert(0, types.Part(text=text))
            contents.append(types.Content(role="model", parts=kept))
            if not calls:
                answers.append(text)
                break
            results = [
                types.Part.from_function_response(
                    name=c.name, response={"result": run_tool(c.name, c.args or {})}
                )
                for c in calls
            ]
            contents.append(types.Content(role="user", parts=results))
    return answers


def langchain(base, model):
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    from langchain.agents import create_agent

    chat = ChatOpenAI(base_url=f"{base}/v1", api_key=KEY, model=model, max_retries=0)
    agent = create_agent(chat, [tool(list_files), tool(read_file)])
    messages, answers = [], []
    for question in (FIRST, SECOND):
        state = agent.invoke({"messages": messages + [HumanMessage(question)]})
        messages = state["messages"]
        answers.append(messages[-1].text if isinstance(messages[-1].text, str) else messages[-1].text())
    return answers


def langchain_anthropic(base, model):
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage
    from langchain_core.tools import tool

    from langchain.agents import create_agent

    chat = ChatAnthropic(
        base_url=base, api_key=KEY, model=model, max_tokens=8000, thinking=thinking_of(model), max_retries=0
    )
    agent = create_agent(chat, [tool(list_files), tool(read_file)])
    messages, answers = [], []
    for question in (FIRST, SECOND):
        state = agent.invoke({"messages": messages + [HumanMessage(question)]})
        messages = state["messages"]
        answers.append(messages[-1].text if isinstance(messages[-1].text, str) else messages[-1].text())
    return answers


def pydantic_ai(base, model):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{base}/v1", api_key=KEY)
    agent = Agent(OpenAIChatModel(model, provider=provider), tools=[list_files, read_file])
    first = agent.run_sync(FIRST)
    second = agent.run_sync(SECOND, message_history=first.all_messages())
    return [first.output, second.output]


def litellm(base, model):
    import litellm as lite

    lite.suppress_debug_info = True
    lite.telemetry = False
    messages, answers = [], []
    for question in (FIRST, SECOND):
        messages.append({"role": "user", "content": question})
        for _ in range(ROUNDS):
            response = lite.completion(
                model=f"openai/{model}",
                api_base=f"{base}/v1",
                api_key=KEY,
                messages=messages,
                tools=openai_tools(),
                num_retries=0,
            )
            message = response.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                answers.append(message.content)
                break
            for c in message.tool_calls:
                result = run_tool(c.function.name, json.loads(c.function.arguments or "{}"))
                messages.append({"role": "tool", "tool_call_id": c.id, "content": result})
    return answers


CLIENTS = {
    "openai-chat": openai_chat,
    "openai-chat-stream": openai_chat_stream,
    "openai-responses": openai_responses,
    "openai-responses-stored": openai_responses_stored,
    "anthropic": anthropic_sdk,
    "anthropic-keeps": anthropic_sdk_keeps,
    "google-genai": google_genai,
    "langchain": langchain,
    "langchain-anthropic": langchain_anthropic,
    "pydantic-ai": pydantic_ai,
    "litellm": litellm,
}


def main():
    client, base, model = sys.argv[1:4]
    try:
        answers = CLIENTS[client](base, model)
        missing = [
            word
            for answer, words in zip(answers, (["notes.txt", "plan.md"], ["Buy milk."]))
            for word in words
            if word not in (answer or "")
        ]
        ok = len(answers) == 2 and not missing
        detail = "" if ok else f"answers without {missing}: {answers}"
    except Exception as error:  # whatever it is belongs into the table
        ok, detail = False, f"{type(error).__name__}: {error}"
    print(json.dumps({"ok": ok, "detail": " ".join(detail.split())[:400]}))


if __name__ == "__main__":
    main()
