import type { Api } from '../../protocols/llm/schema.ts'
import { isText } from '../mcp-facts.ts'
import type { Fact } from '../symbolic/attribute-tree.ts'
import type { Entry } from './entries.ts'
import type { CallShape } from './request-form.ts'

const chat = (model: string, content: string) => ({ model, messages: [{ role: 'user', content }] })
const input = (model: string, text: string) => ({ model, input: text })
const contents = (_: string, text: string) => {
  return { contents: [{ role: 'user', parts: [{ text }] }] }
}

const converse = (_: string, text: string) => {
  return { messages: [{ role: 'user', content: [{ text }] }] }
}
const documents = (model: string, query: string) => ({ model, query, documents: [query] })
const post = (api: Api, path: string, body: NonNullable<CallShape['body']>): CallShape => {
  return { method: 'POST', path, api, body }
}
const generation = (...given: Parameters<typeof post>): CallShape => {
  return { ...post(...given), isGeneration: true }
}

/** Calls in the APIs that providers and clients use, the most common one first. */
export const CALLS: readonly CallShape[] = [
  generation('completions', '/v1/chat/completions', chat),
  generation('messages', '/v1/messages', (model, text) => ({
    max_tokens: 16,
    ...chat(model, text),
  })),
  generation('responses', '/v1/responses', input),
  post('embeddings', '/v1/embeddings', input),
  { ...post('gemini', '/v1beta/models/any:generateContent', contents), model: 'any' },
  { ...post('converse', '/model/any/converse', converse), model: 'any' },
  post('messages', '/v1/messages/count_tokens', chat),
  post('rerank', '/v1/rerank', documents),
  post('other', '/v1/moderations', input),
  post('other', '/v1/completions', (model, prompt) => ({ model, prompt })),
]

/** What a call stored, by an ID that only its provider knows. */
export const STORED: readonly CallShape[] = [
  { method: 'GET', path: '/v1/responses/resp_1', api: 'responses' },
]

/** Calls that providers of the same API get as they are, and that cannot be translated. */
export const UNTRANSLATABLE: readonly CallShape[] = [
  post('completions', '/v1/chat/completions', (model) => ({ model, messages: 1 })),
  post('messages', '/v1/messages', (model) => ({ model, messages: 1 })),
  post('responses', '/v1/responses', (model) => ({ model, input: 1 })),
  {
    ...post('gemini', '/v1beta/models/any:generateContent', () => ({ contents: 1 })),
    model: 'any',
  },
  { ...post('converse', '/model/any/converse', () => ({ messages: 1 })), model: 'any' },
]

/** The list of models. */
export const LISTS: readonly CallShape[] = [
  { method: 'GET', path: '/v1/models' },
  { method: 'GET', path: '/v1beta/models' },
]

/** The entry for requests of this shape only. */
export function shaped(entry: Entry, shape: CallShape): Entry {
  const { method, path, body, model } = shape
  const facts: readonly (readonly [string, Fact])[] = [
    ['request.method', isText(method)],
    ...(shape.isAnywhere === true
      ? []
      : ([
          ['request.path', { kind: 'values', values: pathsFor(entry, path), isSet: true }],
        ] as const)),
    ...(body === undefined
      ? []
      : ([
          ["request.headers['content-type']", isText('application/json')],
          ...(model === undefined ? [] : [['llm.requestModel', isText(model)] as const]),
        ] as const)),
  ]
  const last = entry.points.length - 1
  const points = entry.points.map((point, index) => {
    if (index < last) return point
    // Calls to one model by its name are about this model.
    const isNamed = point.facts.has('llm.requestModel')
    const added = facts.filter(([name]) => !isNamed || name !== 'llm.requestModel')
    return { ...point, facts: new Map([...point.facts, ...added]) }
  })
  return { ...entry, points, shape }
}

/** The end may follow what the route matches. */
function pathsFor({ match }: Entry, end: string): readonly string[] {
  const { kind, value } = match?.match.path ?? { kind: 'prefix', value: '/' }
  const before = value.replace(/\/+$/, '')
  if (kind === 'exact') return value.endsWith(tailOf(end)) ? [value] : [end]
  if (kind === 'regex' || before === '') return [end]
  return [
    end,
    `${before}${end}`,
    `${before}${tailOf(end)}`,
    ...(before.endsWith(tailOf(end)) ? [before] : []),
  ]
}

/** Without the version. */
function tailOf(path: string): string {
  return path.replace(/^\/v1(?:beta)?(?=\/)/, '')
}
