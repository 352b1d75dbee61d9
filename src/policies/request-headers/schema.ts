import { headerChanges } from '../header-changes.ts'

export const requestHeaders = headerChanges().describe(
  'Modifies request headers: first `remove`, then `set`, then `add`.',
)
