/** The members of a request that have what is talked about, in any dialect. */
export const CONTENT_MEMBERS: readonly string[] = [
  'messages',
  'input',
  'prompt',
  'contents',
  'system',
  'systemInstruction',
  'system_instruction',
  'instructions',
  'query',
  'documents',
]
