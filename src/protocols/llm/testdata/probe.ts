import assert from 'node:assert/strict'
import type { DialectName } from '../dialect.ts'
import { translatorFor } from '../translate.ts'
import type { TranslatedCall } from '../translator.ts'

/* Helpers for tests that send one body through one translator. */

// biome-ignore lint/suspicious/noExplicitAny: bodies of five vendors, checked by hand
export type Body = any

export const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value))
export const decode = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

export interface Options {
  readonly model?: string
  readonly maker?: string
  readonly maxOutputTokens?: number
}

export function call(
  client: DialectName,
  provider: DialectName,
  body: Body,
  options: Options = {},
) {
  const bytes = typeof body === 'string' ? Buffer.from(body) : encode(body)
  const call = translatorFor(client, provider)?.translate(bytes, { maker: provider, ...options })
  assert.ok(call !== undefined)
  return call
}

export function translated(
  client: DialectName,
  provider: DialectName,
  body: Body,
  options?: Options,
): TranslatedCall {
  const found = call(client, provider, body, options)
  assert.ok(found.ok, JSON.stringify(found))
  return found.value
}

export function sent(
  client: DialectName,
  provider: DialectName,
  body: Body,
  options?: Options,
): Body {
  return JSON.parse(decode(translated(client, provider, body, options).request.body))
}

export function dropped(client: DialectName, provider: DialectName, body: Body, options?: Options) {
  return translated(client, provider, body, options).request.dropped
}

export function received(
  client: DialectName,
  provider: DialectName,
  response: Body,
  body: Body,
): Body {
  const read = translated(client, provider, body).response(encode(response))
  assert.ok(read.ok, JSON.stringify(read))
  return JSON.parse(decode(read.value.body))
}

export function streamed(
  client: DialectName,
  provider: DialectName,
  bytes: Uint8Array,
  body: Body,
) {
  const stream = translated(client, provider, { ...body, stream: true }).openStream()
  return decode(Buffer.concat([stream.push(bytes), stream.end()]))
}

export const user = (content: Body) => ({ role: 'user', content })
export const chat = (fields: Body = {}) => ({ model: 'm', messages: [user('hi')], ...fields })
export const message = (fields: Body = {}) => ({ max_tokens: 100, ...chat(fields) })
export const toolCall = (id: string, name: string, text: string) => ({
  id,
  type: 'function',
  function: { name, arguments: text },
})
export const completion = (message: Body, finish = 'stop') => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }],
})
export const chunks = (...events: Body[]) =>
  Buffer.from(
    [...events.map((it) => JSON.stringify(it)), '[DONE]'].map((it) => `data: ${it}\n\n`).join(''),
  )
export const delta = (delta: Body, finish: string | null = null) => ({
  id: 'x',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
