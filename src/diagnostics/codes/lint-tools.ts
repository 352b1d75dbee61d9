import type { CodeRecord } from './define.ts'
import { GATEWAY } from './lint-examples.ts'

/** Problems of rules about MCP servers and their tools. */
export const LINT_TOOL_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ030',
    severity: 'error',
    title: 'a rule names an MCP server or tool that does not exist',
    explanation:
      'The rule compares `mcp.tool.target` with a name that no server of the backend has, or ' +
      '`mcp.tool.name` with one that no server offers. Tools are known if every server of the ' +
      'backend is pinned with `mode: Enforce` or described by an OpenAPI document in the ' +
      'configuration. It is a warning if the rule can still match. Rules see the original tool ' +
      'name of the server, without the prefix that clients see.',
    example: {
      language: 'yaml',
      wrong: servers("allow: mcp.tool.target == 'fies'"),
      right: servers("allow: mcp.tool.target == 'files'"),
    },
  },
  {
    code: 'AZ031',
    severity: 'error',
    title: 'a rule reads arguments but never matches a call',
    explanation:
      'Arguments are available when a tool is called, but not when a list is filtered; a rule ' +
      'that depends on them keeps the tool visible in lists. A rule that also requires another ' +
      'method, such as `tools/list`, is never true for a call: as an Allow rule it shows tools ' +
      'that no one can call, and as a Deny rule it denies nothing.',
    example: {
      language: 'yaml',
      wrong: servers(
        `allow: "mcp.methodName == 'tools/list' && mcp.tool.arguments.path.startsWith('/srv/')"`,
      ),
      right: servers("allow: mcp.tool.arguments.path.startsWith('/srv/')"),
    },
  },
  {
    code: 'AZ032',
    severity: 'warning',
    title: 'tools can be called but are never listed',
    explanation:
      'Lists are filtered by the same rules as calls, with the `mcp.methodName` that the client ' +
      'sent: `tools/list`. Allow rules that require `tools/call` are false there, and so are ' +
      'Require rules, so clients cannot discover the tools. Remove the condition on the method, ' +
      'add a rule that allows the list, or restrict a Require rule to calls: ' +
      "`mcp.methodName != 'tools/call' || …`.",
    example: {
      language: 'yaml',
      wrong: servers(`allow: "mcp.methodName == 'tools/call' && mcp.tool.name == 'read'"`),
      right: servers("allow: mcp.tool.name == 'read'"),
    },
  },
  {
    code: 'AZ033',
    severity: 'warning',
    title: 'rules of one MCP server leave the others open',
    explanation:
      'Rules in the `policies` of a server apply only to that server. Another server of the ' +
      'same backend has no rules, and neither does the backend, so anyone who reaches the route ' +
      'can use it. Set the rules on the backend or the route, where they apply to all servers.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}mcp:
  targets:
  - name: files
    mcp: { host: files.internal }
    policies:
      mcpAuthorization:
        rules:
        - allow: mcp.tool.name == 'read'
  - name: shell
    mcp: { host: shell.internal }`,
      right: `${GATEWAY}mcp:
  targets:
  - name: files
    mcp: { host: files.internal }
  - name: shell
    mcp: { host: shell.internal }
  policies:
    mcpAuthorization:
      rules:
      - allow: mcp.tool.target == 'files' && mcp.tool.name == 'read'`,
    },
  },
  {
    code: 'AZ034',
    severity: 'warning',
    title: 'an MCP server gets the tokens of clients',
    explanation:
      'With `backendAuth: { passthrough: {} }` the server gets the token that a client sent to ' +
      'the gateway. A server that is malicious or compromised can use it at the gateway, and at ' +
      'every other service that accepts it. The authorization specification of MCP forbids this. ' +
      'Exchange the token for one that is valid for the server alone, let users connect their ' +
      'accounts, or send a key of the gateway.',
    example: {
      language: 'yaml',
      wrong: `${GATEWAY}mcp:
  targets:
  - name: files
    mcp: { host: files.internal }
    policies:
      backendAuth: { passthrough: {} }`,
      right: `${GATEWAY}mcp:
  targets:
  - name: files
    mcp: { host: files.internal }
    policies:
      backendAuth: { key: '\${FILES_KEY:-unset}' }`,
    },
  },
  {
    code: 'AZ035',
    severity: 'warning',
    title: 'an API key is limited to a model that does not exist',
    explanation:
      '`allowedModels` of a key contains a name that no model has, such as a misspelled one or one ' +
      'that was renamed. Clients with this key get 403 for the model that was meant.',
    example: {
      language: 'yaml',
      wrong: models('smal'),
      right: models('small'),
    },
  },
]

function models(allowed: string): string {
  return `${GATEWAY}llm:
  policies:
    apiKey:
      keys:
      - keyHash: sha256:${'0'.repeat(64)}
        allowedModels: [${allowed}]
  models:
  - name: small
    provider: openAI
    params: { model: gpt-4o-mini }`
}

function servers(rule: string): string {
  return `${GATEWAY}mcp:
  targets:
  - name: files
    mcp: { host: files.internal }
  policies:
    mcpAuthorization:
      rules:
      - ${rule}`
}
