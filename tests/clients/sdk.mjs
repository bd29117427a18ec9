// One conversation with one JavaScript SDK: a question that needs tools, and a follow-up.
//
//     node sdk.mjs CLIENT BASE_URL MODEL
//
// BASE_URL is a root without a version. Prints one JSON line: {"ok": boolean, "detail": string}. What the SDK keeps by
// itself is kept, the rest is dropped.

const FILES = { 'notes.txt': 'Buy milk.', 'plan.md': 'Ship on Friday.' };
const FIRST = 'Which files are in this folder? Use the tool list_files.';
const SECOND = 'Now read notes.txt with the tool read_file and tell me what it says.';
const KEY = process.env.MINE_KEY ?? 'sk-client-of-mine';
const ROUNDS = 6;

const listFiles = () => Object.keys(FILES).join('\n');
const readFile = (path) => FILES[path] ?? `there is no file ${path}`;
const runTool = (name, input) => (name === 'list_files' ? listFiles() : readFile(input?.path));

const SCHEMAS = [
  { name: 'list_files', description: 'List the files of the folder.', parameters: { type: 'object', properties: {} } },
  {
    name: 'read_file',
    description: 'Read one file of the folder.',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string', description: 'name of the file' } },
      required: ['path'],
    },
  },
];

async function openaiChat(base, model, stream = false) {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: KEY, maxRetries: 0 });
  const tools = SCHEMAS.map((schema) => ({ type: 'function', function: schema }));
  const messages = [];
  const answers = [];
  for (const question of [FIRST, SECOND]) {
    messages.push({ role: 'user', content: question });
    for (let round = 0; round < ROUNDS; round++) {
      let message;
      if (stream) {
        message = await client.chat.completions.stream({ model, messages, tools }).finalMessage();
      } else {
        message = (await client.chat.completions.create({ model, messages, tools })).choices[0].message;
      }
      const answer = { role: 'assistant', content: message.content };
      if (message.tool_calls?.length) answer.tool_calls = message.tool_calls;
      messages.push(answer);
      if (!message.tool_calls?.length) {
        answers.push(message.content);
        break;
      }
      for (const call of message.tool_calls) {
        const content = runTool(call.function.name, JSON.parse(call.function.arguments || '{}'));
        messages.push({ role: 'tool', tool_call_id: call.id, content });
      }
    }
  }
  return answers;
}

async function openaiResponses(base, model) {
  const { default: OpenAI } = await import('openai');
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: KEY, maxRetries: 0 });
  const tools = SCHEMAS.map((schema) => ({ type: 'function', ...schema }));
  const history = [];
  const answers = [];
  for (const question of [FIRST, SECOND]) {
    history.push({ role: 'user', content: question });
    for (let round = 0; round < ROUNDS; round++) {
      const stream = client.responses.stream({ model, tools, input: history, store: false });
      const response = await stream.finalResponse();
      const calls = response.output.filter((item) => item.type === 'function_call');
      for (const { call_id, name, arguments: args } of calls) {
        history.push({ type: 'function_call', call_id, name, arguments: args });
      }
      if (!calls.length) {
        history.push({ role: 'assistant', content: response.output_text });
        answers.push(response.output_text);
        break;
      }
      for (const call of calls) {
        const output = runTool(call.name, JSON.parse(call.arguments || '{}'));
        history.push({ type: 'function_call_output', call_id: call.call_id, output });
      }
    }
  }
  return answers;
}

// The newer models of this API decide themselves how much they think, and refuse to be told.
const thinkingOf = (model) =>
  /omitted|bound/.test(model) ? { type: 'adaptive' } : { type: 'enabled', budget_tokens: 2000 };

async function anthropicSdk(base, model) {
  const { default: Anthropic } = await import('@anthropic-ai/sdk');
  const client = new Anthropic({ baseURL: base, apiKey: KEY, maxRetries: 0 });
  const tools = SCHEMAS.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  const messages = [];
  const answers = [];
  for (const question of [FIRST, SECOND]) {
    messages.push({ role: 'user', content: question });
    for (let round = 0; round < ROUNDS; round++) {
      const thinking = thinkingOf(model);
      const ask = { model, max_tokens: 8000, thinking, tools, messages };
      const response = await client.messages.stream(ask).finalMessage();
      const kept = response.content.filter((block) => block.type === 'text' || block.type === 'tool_use');
      messages.push({ role: 'assistant', content: kept });
      const calls = kept.filter((block) => block.type === 'tool_use');
      if (!calls.length) {
        answers.push(kept.map((block) => block.text).join(''));
        break;
      }
      const content = calls.map((call) => ({
        type: 'tool_result',
        tool_use_id: call.id,
        content: runTool(call.name, call.input),
      }));
      messages.push({ role: 'user', content });
    }
  }
  return answers;
}

async function googleGenai(base, model) {
  const { GoogleGenAI } = await import('@google/genai');
  const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: base } });
  const functionDeclarations = SCHEMAS.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  const contents = [];
  const answers = [];
  for (const question of [FIRST, SECOND]) {
    contents.push({ role: 'user', parts: [{ text: question }] });
    for (let round = 0; round < ROUNDS; round++) {
      const config = { tools: [{ functionDeclarations }] };
      const parts = [];
      for await (const chunk of await client.models.generateContentStream({ model, contents, config })) {
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      }
      const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
      const text = parts.filter((part) => !part.thought).map((part) => part.text ?? '').join('');
      const kept = calls.map((functionCall) => ({ functionCall }));
      if (text) kept.unshift({ text });
      contents.push({ role: 'model', parts: kept });
      if (!calls.length) {
        answers.push(text);
        break;
      }
      const results = calls.map(({ id, name, args }) => ({
        functionResponse: { id, name, response: { result: runTool(name, args) } },
      }));
      contents.push({ role: 'user', parts: results });
    }
  }
  return answers;
}

async function aiSdk(base, model, kind) {
  const { generateText, streamText, tool, jsonSchema, stepCountIs, isStepCount } = await import('ai');
  let chat;
  if (kind === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic');
    chat = createAnthropic({ baseURL: `${base}/v1`, apiKey: KEY })(model);
  } else if (kind === 'responses') {
    // Counts on the provider's memory: what it knows by an id goes back as a reference to an item.
    const { createOpenAI } = await import('@ai-sdk/openai');
    chat = createOpenAI({ baseURL: `${base}/v1`, apiKey: KEY }).responses(model);
  } else {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    chat = createOpenAICompatible({ name: 'mine', baseURL: `${base}/v1`, apiKey: KEY })(model);
  }
  const tools = Object.fromEntries(
    SCHEMAS.map(({ name, description, parameters }) => [
      name,
      tool({ description, inputSchema: jsonSchema(parameters), execute: async (input) => runTool(name, input) }),
    ]),
  );
  const messages = [];
  const answers = [];
  const stopWhen = (isStepCount ?? stepCountIs)(ROUNDS);
  for (const question of [FIRST, SECOND]) {
    messages.push({ role: 'user', content: question });
    if (kind === 'stream') {
      const result = streamText({ model: chat, tools, messages, stopWhen, maxRetries: 0, onError() {} });
      answers.push(await result.text);
      messages.push(...(await result.response).messages);
    } else {
      const result = await generateText({ model: chat, tools, messages, stopWhen, maxRetries: 0 });
      answers.push(result.text);
      messages.push(...result.response.messages);
    }
  }
  return answers;
}

const CLIENTS = {
  'openai-chat-js': openaiChat,
  'openai-chat-stream-js': (base, model) => openaiChat(base, model, true),
  'openai-responses-js': openaiResponses,
  'anthropic-js': anthropicSdk,
  'google-genai-js': googleGenai,
  'ai-sdk': (base, model) => aiSdk(base, model, 'whole'),
  'ai-sdk-stream': (base, model) => aiSdk(base, model, 'stream'),
  'ai-sdk-anthropic': (base, model) => aiSdk(base, model, 'anthropic'),
  'ai-sdk-responses': (base, model) => aiSdk(base, model, 'responses'),
};

const [client, base, model] = process.argv.slice(2);
let ok = false;
let detail = '';
try {
  const answers = await CLIENTS[client](base, model);
  const wanted = [['notes.txt', 'plan.md'], ['Buy milk.']];
  const missing = wanted.flatMap((words, turn) => words.filter((word) => !(answers[turn] ?? '').includes(word)));
  ok = answers.length === 2 && missing.length === 0;
  if (!ok) detail = `answers without ${missing}: ${JSON.stringify(answers)}`;
} catch (error) {
  detail = `${error?.name}: ${error?.message}`;
}
console.log(JSON.stringify({ ok, detail: detail.replace(/\s+/g, ' ').slice(0, 400) }));
