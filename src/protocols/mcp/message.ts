import { readJson } from '../../cel/values/json-read.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import { readListSteps } from '../json-elements.ts'
import { jsonMembers } from '../json-text.ts'

/** A client's message, as rules and servers read it. */
export interface ClientMessage {
  readonly kind: 'request' | 'notification' | 'response'
  /** As written; `null` for a notification. */
  readonly id: string
  /** Empty for a response. */
  readonly method: string
  readonly params: JsonObject
  readonly text: string
}

/** The fuel limit for reading a body (cel/values/fuel.ts). */
const READING_FUEL = 1_000_000

/**
 * Returns a problem if it is not JSON-RPC 2.0 or the server could read it differently from rules.
 */
export function readMessage(bytes: Uint8Array): ClientMessage | 'invalid-json' | 'invalid-message' {
  const text = decode(bytes)
  if (text === undefined) return 'invalid-json'
  const allowance = { left: READING_FUEL }
  const value = readJson(text, { duplicates: 'reject', allowance })
  return value === undefined ? 'invalid-json' : messageIn(value, text)
}

/** Reads the messages of a batch; `invalid-message` if one is malformed, or there are too many. */
export function readBatch(
  bytes: Uint8Array,
  maximum: number,
): readonly ClientMessage[] | 'invalid-json' | 'invalid-message' {
  const text = decode(bytes)
  if (text === undefined) return 'invalid-json'
  const value = readJson(text, { duplicates: 'reject', allowance: { left: READING_FUEL } })
  if (value === undefined) return 'invalid-json'
  if (!Array.isArray(value) || value.length === 0 || value.length > maximum) {
    return 'invalid-message'
  }
  const texts = jsonMembers(text)
  const messages: ClientMessage[] = []
  for (const [at, one] of value.entries()) {
    const message = messageIn(one, texts.get(at) ?? '')
    if (typeof message === 'string') return message
    messages.push(message)
  }
  return messages
}

function messageIn(value: unknown, text: string): ClientMessage | 'invalid-message' {
  if (!isObject(value) || value.jsonrpc !== '2.0') return 'invalid-message'
  const { method, params = {} } = value
  const id = jsonMembers(text).get('id')
  if (id !== undefined && !isId(value.id)) return 'invalid-message'
  if (method === undefined) {
    const isResponse = id !== undefined && ('result' in value || 'error' in value)
    if (!isResponse) return 'invalid-message'
    return { kind: 'response', id, method: '', params: {}, text }
  }
  if (typeof method !== 'string' || !isObject(params)) return 'invalid-message'
  if (id === undefined) return { kind: 'notification', id: 'null', method, params, text }
  return { kind: 'request', id, method, params, text }
}

/** Decodes valid UTF-8 only; others could read different text from invalid bytes. */
function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
  )
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
}

/** Returns the same key for an ID in any spelling: a server writes it again in its own way. */
export function idKey(written: string): string {
  return JSON.stringify(JSON.parse(written))
}

/** A server's message, as far as the gateway reads it. */
export interface ServerMessage {
  readonly kind: 'request' | 'notification' | 'response' | 'unknown'
  readonly id: string | undefined
  readonly method: string
  /** The members of the message, each as written. */
  readonly members: ReadonlyMap<string | number, string>
  readonly text: string
}

export function readServerMessage(text: string): ServerMessage {
  return messageOf(text, isJson(text) ? jsonMembers(text) : new Map<string, string>())
}

/** The same in steps: lists of its result are read piece by piece. */
export function* readServerSteps(text: string): Generator<void, ServerMessage> {
  const read = yield* readListSteps(text, ['result'])
  if (read === undefined || !isJson(read.frame)) return messageOf(text, new Map())
  const members = new Map(jsonMembers(read.frame))
  const result = read.around.at(-1)
  if (result !== undefined) members.set('result', text.slice(result.start, result.end))
  return messageOf(text, members)
}

function messageOf(text: string, members: ServerMessage['members']): ServerMessage {
  const written = members.get('method')
  const method = written?.startsWith('"') ? (JSON.parse(written) as string) : ''
  const id = members.get('id')
  const isResponse = id !== undefined && (members.has('result') || members.has('error'))
  const kind = isResponse
    ? 'response'
    : method === ''
      ? 'unknown'
      : id === undefined
        ? 'notification'
        : 'request'
  return { kind, id, method, members, text }
}

/**
 * The same for a message that is inspected: one that cannot be parsed could contain content that
 * the client may not see, so it is not forwarded.
 */
export function readKnownMessage(text: string): ServerMessage {
  const message = readServerMessage(text)
  if (message.kind === 'unknown') throw new Error('a server sent an invalid MCP message')
  return message
}

function isJson(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}
