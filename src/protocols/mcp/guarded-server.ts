import type { Exchange } from '../../exchange/exchange.ts'
import { editJson, type JsonPath } from '../json-text.ts'
import { CODES, errorText } from './errors.ts'
import { readServerMessage } from './message.ts'
import {
  type McpServer,
  NOT_SENDING,
  type Received,
  type SentMessage,
  type ServerEvents,
  type ServerFailure,
} from './server.ts'

/** A text as it may pass; a rejection says why it may not. */
export type GuardMcpText = (
  text: string,
) => { readonly text: string; readonly rejection?: undefined } | { readonly rejection: string }

/** What guards of one request do; undefined: nothing in that direction. */
export interface McpGuards {
  readonly request: GuardMcpText | undefined
  readonly response: GuardMcpText | undefined
}

export type GuardsFor = (exchange: Exchange) => McpGuards | undefined

/** A server all of whose messages pass the guards: calls, results, and what it sends by itself. */
export function guardServer<P>(server: McpServer<P>, guardsFor: GuardsFor): McpServer<P> {
  const { listen } = server
  return {
    name: server.name,
    send(permit, exchange, message, events) {
      const guards = guardsFor(exchange)
      if (guards === undefined) return server.send(permit, exchange, message, events)
      const { request, response } = guards
      const guarded = request === undefined ? message : guardSent(message, request)
      if ('rejection' in guarded) {
        respondInstead(message, guarded.rejection, events)
        return NOT_SENDING
      }
      return server.send(permit, exchange, guarded, guardEvents(events, response))
    },
    ...(listen && {
      listen: (permit, exchange, session, resume, events) => {
        const guarded = guardEvents(events, guardsFor(exchange)?.response)
        return listen.call(server, permit, exchange, session, resume, guarded)
      },
    }),
    ...(server.end && { end: (...all) => server.end?.(...all) }),
    ...(server.close && { close: () => server.close?.() }),
  }
}

function respondInstead({ kind, id }: SentMessage, rejection: string, events: ServerEvents): void {
  if (kind !== 'request') {
    events.began('accepted', undefined)
    return
  }
  events.began('message', undefined)
  events.received({ text: rejected(id, rejection), block: undefined })
  events.ended()
}

function rejected(id: string, message: string): string {
  return errorText(id, { code: CODES.invalidParams, message })
}

function guardSent(
  message: SentMessage,
  guard: GuardMcpText,
): SentMessage | { readonly rejection: string } {
  const { text, rejection } = guardMessage(message.text, guard)
  if (text === undefined) return { rejection: rejection ?? '' }
  return text === message.text ? message : { ...message, text }
}

function guardEvents(events: ServerEvents, guard: GuardMcpText | undefined): ServerEvents {
  if (guard === undefined) return events
  return {
    began: (form, session) => events.began(form, session),
    received: (received) => events.received(guardReceived(received, guard)),
    ended: () => events.ended(),
    failed: (failure) => events.failed(guardFailure(failure, guard)),
  }
}

function guardReceived(received: Received, guard: GuardMcpText): Received {
  const { text: own } = received
  if (own === undefined) return received
  const { text, rejection } = guardMessage(own, guard)
  if (rejection === undefined) return text === own ? received : { ...received, text }
  const { kind, id = 'null' } = readServerMessage(own)
  // What is no response has nobody who waits for it, and is empty of all that was said.
  const said = kind === 'response' ? rejected(id, rejection) : emptied(own)
  return { text: said, block: received.block }
}

function emptied(text: string): string {
  return guardMessage(text, () => ({ text: '' })).text ?? ''
}

/** What a server says in place of a message is not of a known form. */
function guardFailure(failure: ServerFailure, guard: GuardMcpText): ServerFailure {
  const { body = '', ...rest } = failure
  if (body === '') return failure
  const { text } = guardMessage(body, guard)
  return text === undefined ? rest : { ...rest, body: text }
}

/** Lists name what there is: a name that is changed would be a name of nothing. */
const LISTS: ReadonlySet<unknown> = new Set([
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'tasks',
  '_meta',
])
/** Words of the protocol. */
const STRUCTURE: ReadonlySet<unknown> = new Set(
  `type role name uri id taskId mimeType blob cursor nextCursor progressToken requestState
  protocolVersion level logger method mode requestedSchema ref action stopReason model resultType
  status cacheScope includeContext audience`.split(/\s+/),
)
/** What a client or a tool says as it likes: every text in it is content. */
const CONTENT: ReadonlySet<unknown> = new Set(['arguments', 'structuredContent'])
const ENCODED = /^[\w+/=-]{256,}$/

interface GuardedMessage {
  readonly text?: string | undefined
  readonly rejection?: string | undefined
}

/** A message with its texts as they may pass. */
function guardMessage(text: string, guard: GuardMcpText): GuardedMessage {
  if (!isJson(text)) return guard(text)
  let rejection: string | undefined
  /** How deep the content is that is being walked: to look for it above each value takes too long. */
  let contentAt = Number.POSITIVE_INFINITY
  const edited = editJson(text, (path, raw, first) => {
    if (path.length === 0) return 'enter'
    if (path.length === 1) return PARTS.has(path[0]) ? 'enter' : 'keep'
    if (path.length <= contentAt) {
      contentAt = CONTENT.has(path.at(-1)) ? path.length : Number.POSITIVE_INFINITY
    }
    if (isStructure(path, contentAt <= path.length)) return 'keep'
    if (first !== '"') return 'enter'
    const value = JSON.parse(raw()) as string
    if (path.at(-1) === 'data' && ENCODED.test(value)) return 'keep'
    const guarded = guard(value)
    if (guarded.rejection !== undefined) {
      rejection ??= guarded.rejection
      return 'keep'
    }
    return guarded.text === value ? 'keep' : { text: JSON.stringify(guarded.text) }
  })
  return rejection === undefined ? { text: edited } : { rejection }
}

const PARTS: ReadonlySet<unknown> = new Set(['params', 'result', 'error'])

function isStructure(path: JsonPath, isContent: boolean): boolean {
  if (path.length === 2 && LISTS.has(path[1])) return true
  if (isContent) return false
  return STRUCTURE.has(path.at(-1)) || path.at(-1) === '_meta'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
