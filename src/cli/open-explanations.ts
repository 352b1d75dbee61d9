import type { ApiDeps } from '../admin/api/deps.ts'
import type { Explanations, ExplanationsOptions } from './served-explanations.ts'

/** The code that explains is loaded with the first query: most gateways never get one. */
export function openExplanations(options: ExplanationsOptions): ApiDeps['explain'] {
  let opened: Promise<Explanations> | undefined
  return async (query) => {
    opened ??= import('./served-explanations.ts').then((one) => new one.Explanations(options))
    return (await opened).explain(query)
  }
}
