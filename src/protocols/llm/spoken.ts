import type { Dialect, DialectName, Endpoint } from './dialect.ts'
import { PLAIN_DIALECTS, passThrough } from './pass-through.ts'
import type { Translator } from './translator.ts'

/* What the gateway speaks: the dialects of clients, and the ways from one to another. */

const DIALECTS: readonly Dialect[] = PLAIN_DIALECTS

/** Which call a client makes by this method and path; undefined: none that is read. */
export function recognize(method: string, path: string): Endpoint | undefined {
  for (const dialect of DIALECTS) {
    const endpoint = dialect.recognize(method, path)
    if (endpoint !== undefined) return endpoint
  }
  return undefined
}

export function dialectOf(name: DialectName): Dialect {
  return (DIALECTS.find((one) => one.name === name) ?? DIALECTS[0]) as Dialect
}

/** Undefined: nothing leads from one to the other. */
export function translatorFor(client: DialectName, provider: DialectName): Translator | undefined {
  return client === provider ? passThrough(dialectOf(client)) : undefined
}
