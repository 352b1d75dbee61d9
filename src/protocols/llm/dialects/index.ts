import type { Dialect, DialectName, Endpoint } from '../dialect.ts'
import { completions } from './completions/index.ts'
import { converse } from './converse/index.ts'
import { embeddings } from './embeddings.ts'
import { gemini } from './gemini/index.ts'
import { messages } from './messages/index.ts'
import { other } from './other.ts'
import { rerank } from './rerank.ts'
import { responses } from './responses/index.ts'

export const DIALECTS: readonly Dialect[] = [
  // Its list of models is at a path that ends like OpenAI's.
  gemini,
  completions,
  responses,
  messages,
  converse,
  embeddings,
  rerank,
  other,
]

const BY_NAME = new Map(DIALECTS.map((dialect) => [dialect.name, dialect]))

export function dialectOf(name: DialectName): Dialect {
  const dialect = BY_NAME.get(name)
  if (dialect === undefined) throw new Error(`no dialect ${name}`)
  return dialect
}

/** Returns the call that a client makes with this method and path (without the query), if any. */
export function recognizeEndpoint(method: string, path: string): Endpoint | undefined {
  for (const dialect of DIALECTS) {
    const endpoint = dialect.recognize(method, path)
    if (endpoint !== undefined) return endpoint
  }
  return undefined
}
