/** How a client is set up; the words in double braces are replaced. */
export interface Snippet {
  readonly client: string
  /** What it connects to. */
  readonly to: 'models' | 'mcp'
  readonly runs: 'sh' | 'python' | 'javascript' | 'json' | 'toml' | 'text'
  /** Where the text goes. */
  readonly where: string
  readonly text: string
  readonly note?: string
}

export interface SnippetValues {
  /** Without a slash at its end. */
  readonly base: string
  readonly key: string
  readonly model: string
  /** The address of the MCP servers. */
  readonly mcp: string
}

export const SNIPPETS: readonly Snippet[] = [
  {
    client: 'curl',
    to: 'models',
    runs: 'sh',
    where: 'In a terminal',
    text: `curl {{base}}/v1/chat/completions \\
  -H 'authorization: Bearer {{key}}' \\
  -H 'content-type: application/json' \\
  -d '{"model": "{{model}}", "messages": [{"role": "user", "content": "hello"}]}'
`,
  },
  {
    client: 'OpenAI SDK, Python',
    to: 'models',
    runs: 'python',
    where: 'After `pip install openai`',
    text: `from openai import OpenAI

client = OpenAI(base_url="{{base}}/v1", api_key="{{key}}")
reply = client.chat.completions.create(
    model="{{model}}",
    messages=[{"role": "user", "content": "hello"}],
)
print(reply.choices[0].message.content)
`,
  },
  {
    client: 'OpenAI SDK, JavaScript',
    to: 'models',
    runs: 'javascript',
    where: 'After `npm install openai`',
    text: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '{{base}}/v1', apiKey: '{{key}}' })
const reply = await client.chat.completions.create({
  model: '{{model}}',
  messages: [{ role: 'user', content: 'hello' }],
})
console.log(reply.choices[0].message.content)
`,
  },
  {
    client: 'Anthropic SDK, Python',
    to: 'models',
    runs: 'python',
    where: 'After `pip install anthropic`',
    text: `from anthropic import Anthropic

client = Anthropic(base_url="{{base}}", auth_token="{{key}}", api_key=None)
reply = client.messages.create(
    model="{{model}}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "hello"}],
)
print(reply.content[0].text)
`,
  },
  {
    client: 'Anthropic SDK, JavaScript',
    to: 'models',
    runs: 'javascript',
    where: 'After `npm install @anthropic-ai/sdk`',
    text: `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '{{base}}', authToken: '{{key}}', apiKey: null })
const reply = await client.messages.create({
  model: '{{model}}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'hello' }],
})
console.log(reply.content[0].text)
`,
  },
  {
    client: 'Claude Code',
    to: 'models',
    runs: 'sh',
    where: 'In a terminal',
    text: `export ANTHROPIC_BASE_URL='{{base}}'
export ANTHROPIC_AUTH_TOKEN='{{key}}'
export ANTHROPIC_MODEL='{{model}}'
claude
`,
  },
  {
    client: 'Codex',
    to: 'models',
    runs: 'toml',
    where: 'In ~/.codex/config.toml; set PORTCULLIS_KEY to the key before you start it',
    text: `model = "{{model}}"
model_provider = "portcullis"

[model_providers.portcullis]
name = "Portcullis"
base_url = "{{base}}/v1"
env_key = "PORTCULLIS_KEY"
wire_api = "responses"
`,
  },
  {
    client: 'Cursor',
    to: 'models',
    runs: 'text',
    where: 'In the settings, under Models: API Keys',
    text: `OpenAI API Key: {{key}}
Override OpenAI Base URL: {{base}}/v1
Add model: {{model}}
`,
    note: 'Cursor sends requests from its own servers, so the gateway must be reachable from there.',
  },
  {
    client: 'VS Code',
    to: 'models',
    runs: 'text',
    where: 'Run “Chat: Manage Language Models” and add a Custom Endpoint',
    text: `API key: {{key}}
API type: responses
Model: {{model}}
URL: {{base}}/v1/responses
`,
  },
  {
    client: 'Gemini CLI',
    to: 'models',
    runs: 'sh',
    where: 'In a terminal',
    text: `export GOOGLE_GEMINI_BASE_URL='{{base}}'
export GEMINI_API_KEY='{{key}}'
export GEMINI_MODEL='{{model}}'
gemini
`,
    note: 'It sends the key in the header x-goog-api-key: set `location` of `apiKey` to it. While a Google login is stored, it ignores the address.',
  },
  {
    client: 'Goose',
    to: 'models',
    runs: 'sh',
    where: 'In a terminal',
    text: `export GOOSE_PROVIDER=openai
export GOOSE_MODEL='{{model}}'
export OPENAI_HOST='{{base}}'
export OPENAI_BASE_PATH=v1/chat/completions
export OPENAI_API_KEY='{{key}}'
goose session
`,
  },
  {
    client: 'OpenCode',
    to: 'models',
    runs: 'json',
    where: 'In opencode.json',
    text: `{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "portcullis": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "Portcullis",
      "options": { "baseURL": "{{base}}/v1", "apiKey": "{{key}}" },
      "models": { "{{model}}": { "name": "{{model}}" } }
    }
  }
}
`,
  },
  {
    client: 'curl',
    to: 'mcp',
    runs: 'sh',
    where: 'In a terminal',
    text: `curl {{mcp}} \\
  -H 'authorization: Bearer {{key}}' \\
  -H 'content-type: application/json' \\
  -H 'accept: application/json, text/event-stream' \\
  -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
`,
  },
  {
    client: 'MCP SDK, JavaScript',
    to: 'mcp',
    runs: 'javascript',
    where: 'After `npm install @modelcontextprotocol/sdk`',
    text: `import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const client = new Client({ name: 'example', version: '1.0.0' })
const headers = { authorization: 'Bearer {{key}}' }
await client.connect(
  new StreamableHTTPClientTransport(new URL('{{mcp}}'), { requestInit: { headers } }),
)
const { tools } = await client.listTools()
console.log(tools.map((tool) => tool.name).join('\\n'))
await client.close()
`,
  },
  {
    client: 'Claude Code',
    to: 'mcp',
    runs: 'sh',
    where: 'In a terminal',
    text: `claude mcp add --transport http portcullis '{{mcp}}' \\
  --header 'Authorization: Bearer {{key}}'
`,
  },
  {
    client: 'Codex',
    to: 'mcp',
    runs: 'toml',
    where: 'In ~/.codex/config.toml; set PORTCULLIS_KEY to the key before you start it',
    text: `[mcp_servers.portcullis]
url = "{{mcp}}"
bearer_token_env_var = "PORTCULLIS_KEY"
`,
  },
  {
    client: 'Cursor',
    to: 'mcp',
    runs: 'json',
    where: 'In ~/.cursor/mcp.json',
    text: `{
  "mcpServers": {
    "portcullis": { "url": "{{mcp}}", "headers": { "Authorization": "Bearer {{key}}" } }
  }
}
`,
  },
  {
    client: 'VS Code',
    to: 'mcp',
    runs: 'json',
    where: 'In .vscode/mcp.json',
    text: `{
  "servers": {
    "portcullis": {
      "type": "http",
      "url": "{{mcp}}",
      "headers": { "Authorization": "Bearer {{key}}" }
    }
  }
}
`,
  },
  {
    client: 'Gemini CLI',
    to: 'mcp',
    runs: 'json',
    where: 'In ~/.gemini/settings.json',
    text: `{
  "mcpServers": {
    "portcullis": { "httpUrl": "{{mcp}}", "headers": { "Authorization": "Bearer {{key}}" } }
  }
}
`,
  },
  {
    client: 'OpenCode',
    to: 'mcp',
    runs: 'json',
    where: 'In opencode.json',
    text: `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "portcullis": {
      "type": "remote",
      "url": "{{mcp}}",
      "headers": { "Authorization": "Bearer {{key}}" }
    }
  }
}
`,
  },
  {
    client: 'Windsurf',
    to: 'mcp',
    runs: 'json',
    where: 'In ~/.codeium/windsurf/mcp_config.json',
    text: `{
  "mcpServers": {
    "portcullis": { "serverUrl": "{{mcp}}", "headers": { "Authorization": "Bearer {{key}}" } }
  }
}
`,
  },
]

/** The text with the values in it. */
export function filled({ text }: Snippet, values: SnippetValues): string {
  return text.replaceAll(/\{\{(base|key|model|mcp)\}\}/g, (_, name) => values[name as 'base'])
}
