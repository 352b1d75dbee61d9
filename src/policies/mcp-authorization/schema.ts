import { scopedRules } from '../authorization-rules.ts'

export const mcpAuthorization = scopedRules().describe(
  'Which MCP servers, tools, prompts and resources may be used; lists show only what the rules ' +
    'admit.',
)
