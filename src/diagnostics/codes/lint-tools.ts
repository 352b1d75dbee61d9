import type { CodeRecord } from './define.ts'
import { GATEWAY } from './lint-examples.ts'

/** What is wrong with rules about MCP servers and their tools. */
export const LINT_TOOL_CODES: readonly CodeRecord[] = [
  {
    code: 'AZ030',
    severity: 'error',
    title: 'a rule names an MCP server or a tool that does not exist',
    explanation:
      'The rule compares `mcp.tool.target` with a name that no server of the backend has, or ' +
      '`mcp.tool.name` with one that no server offers. Tools are known if every server of the ' +
      'backend is pinned with `mode: Enforce` or is described by an OpenAPI document in the ' +
      'configuration. It is a warning if the rule can match all the same. Rules read the name that ' +
      'the server gives a tool, without the prefix that clients see.',
    example: {
      language: 'yaml',
      wrong: servers("allow: mcp.tool.target == 'fies'"),
      right: servers("allow: mcp.tool.target == 'files'"),
    },
  },
  {
    code: 'AZ031',
    severity: 'error',
    title: 'a rule reads arguments and never matches a call',
    explanation:
      'Arguments are known when a tool is called. While a list is filtered they are not, and a ' +
      'rule that depends on them keeps the tool visible. A rule that also requires another ' +
      'method, such as `tools/list`, is therefore never true of a call: as an Allow rule it ' +
      'shows tools that no one can call, and as a Deny rule it denies nothing.',
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
    title: 'tools can be called and are in no list',
    explanation:
      'Lists are filtered by the same rules as calls, with `mcp.methodName` as the client sent ' +
      'it: `tools/list`. Allow rules that require `tools/call` are false there, so no client ' +
      'finds the tools. Leave the method out, or add a rule that allows the list.',
    example: {
      language: 'yaml',
      wrong: servers(`allow: "mcp.methodName == 'tools/call' && mcp.tool.name == 'read'"`),
      right: servers("allow: mcp.tool.name == 'read'"),
    },
  },
  {
    code: 'AZ033',
    severity: 'warning',
    title: 'rules of one MCP server leave the others to everyone',
    explanation:
      'Rules in the `policies` of a server hold for that server alone. Another server of the same ' +
      'backend has none, and neither has the backend, so anyone who reaches the route may use ' +
      'it. Write the rules at the backend or the route, where they hold for all of its servers.',
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
]

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
