import { headerChanges } from '../header-changes.ts'

export const responseHeaders = headerChanges().describe(
  'Changes headers of the response: first `remove`, then `set`, then `add`.',
)
