/** The request members that contain the conversation, in any dialect. */
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
