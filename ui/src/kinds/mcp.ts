import { key, rules } from './keys-and-budgets.ts'
import { first, type KindHints } from './kind-hints.ts'

export const mcp: KindHints = {
  noun: 'MCP servers',
  plural: 'MCP servers',
  what: 'MCP servers whose tools are served at one address.',
  start: { targets: [] },
  starts: [
    {
      id: 'server',
      label: 'an MCP server',
      to: ['targets'],
      value: { name: '', mcp: { host: '' } },
      isItem: true,
    },
    {
      id: 'program',
      label: 'a local program',
      to: ['targets'],
      value: { name: '', stdio: { cmd: '', args: [] } },
      isItem: true,
    },
    rules('policies', 'mcpAuthorization'),
    key('policies'),
  ],
  forms: {
    'mcp:': first('targets', 'policies'),
    'mcp-target:': first('name'),
  },
}
