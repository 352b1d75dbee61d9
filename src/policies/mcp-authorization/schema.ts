import { scopedRules } from '../authorization-rules.ts'

export const mcpAuthorization = scopedRules().describe(
  'Controls which MCP servers, tools, prompts and resources can be used. Lists contain only what the rules ' +
    'allow.',
)
