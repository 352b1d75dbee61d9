import { headerChanges } from '../header-changes.ts'

export const requestHeaders = headerChanges().describe(
  'Changes headers of the request: first `remove`, then `set`, then `add`.',
)
