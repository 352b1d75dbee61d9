import { readJson } from '../../cel/values/json-read.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { jsonMembers } from '../json-text.ts'
import { isCardPath, methodOf, restCallOf } from './methods.ts'

export type Binding = 'JSONRPC' | 'HTTP+JSON'

/** A request to an agent. */
export interface A2aRequest {
  readonly verb: string
  /** The path that the agent receives. */
  readonly path: string
  /** Includes the question mark, or is empty. */
  readonly search: string
  readonly body: Uint8Array | undefined
  header(name: string): string | undefined
}

export interface A2aMessage {
  /** `a2a` in expressions; without `method` if the request is not a call. */
  readonly attributes: JsonObject
  readonly binding: Binding
  /** Set if the response is a card: as the body, or in the result of a call. */
  readonly card?: 'body' | 'result'
}

/** A request that the agent might read differently from the rules. */
export interface A2aRejection {
  readonly rejected: string
  readonly status: number
  /** The code of a JSON-RPC error, which agents send with 200: clients read no other response. */
  readonly code?: number
}

const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32602

const ENCODED_SLASH = /%(?:2f|5c)/i
/** Some servers strip path parameters and find another call in the path. */
const PATH_PARAMETERS = /;|%3b/i

/** The fuel limit for reading a body (cel/values/fuel.ts). */
const READING_FUEL = 1_000_000

export function readA2a(request: A2aRequest): A2aMessage | A2aRejection {
  const { verb, search, body } = request
  if (/^application\/grpc/i.test(request.header('content-type') ?? '')) {
    return { rejected: 'gRPC is not supported for agents.', status: 415 }
  }
  const path = decoded(request.path)
  if (path === undefined) return { rejected: 'The path cannot be decoded.', status: 400 }
  // Whether it separates path segments depends on the server.
  if (ENCODED_SLASH.test(request.path)) return rejection('The path has an encoded slash.')
  if (PATH_PARAMETERS.test(request.path)) return rejection('The path has parameters.')
  const isRead = verb === 'GET' || verb === 'HEAD'
  const version = request.header('a2a-version') || queryValue(search, 'A2A-Version') || '0.3'
  const none = { binding: 'HTTP+JSON', version, callbackUrls: [] }
  if (isRead && isCardPath(path)) {
    const attributes = { method: 'GetAgentCard', ...none }
    return { attributes, binding: 'HTTP+JSON', card: 'body' }
  }
  const rest = restCallOf(verb, path)
  if (rest === undefined && isRead) return { attributes: none, binding: 'HTTP+JSON' }
  const read = body === undefined || body.length === 0 ? NO_BODY : parse(body)
  const isCall = rest === undefined && verb === 'POST'
  const inForm = (own: A2aRejection) =>
    isCall || own.code === undefined ? own : rejection(own.rejected)
  if ('rejected' in read) return inForm(read)
  const { fields } = read
  if (rest !== undefined) {
    const query = new URLSearchParams(search)
    const contextIds = [...query.getAll('contextId'), ...query.getAll('context_id')]
    const params = paramsOf(rest.method, fields ?? {}, { taskId: rest.taskId, contextIds })
    if ('rejected' in params) return inForm(params)
    const isCard = rest.method === 'GetExtendedAgentCard'
    const attributes = { method: rest.method, binding: 'HTTP+JSON', version, ...params.read }
    return { attributes, binding: 'HTTP+JSON', ...(isCard ? { card: 'body' } : {}) }
  }
  if (verb === 'OPTIONS') return { attributes: none, binding: 'HTTP+JSON' }
  if (fields === undefined || fields.jsonrpc !== '2.0' || typeof fields.method !== 'string') {
    return inForm(callError('The request is not an A2A method call.', INVALID_REQUEST))
  }
  const isNamed = fields.params === undefined || fields.params === null || isObject(fields.params)
  if (!isNamed) return inForm(callError('The parameters are not an object.', INVALID_PARAMS))
  const method = methodOf(fields.method)
  const params = paramsOf(fields.method, isObject(fields.params) ? fields.params : {}, {})
  if ('rejected' in params) return inForm(params)
  const isCard = method === 'GetExtendedAgentCard'
  const attributes = { method, binding: 'JSONRPC', version, ...params.read }
  return { attributes, binding: 'JSONRPC', ...(isCard ? { card: 'result' } : {}) }
}

interface ReadBody {
  readonly fields: JsonObject | undefined
}

const NO_BODY: ReadBody = { fields: undefined }

function parse(body: Uint8Array): ReadBody | A2aRejection {
  const allowance = { left: READING_FUEL }
  const text = Buffer.from(body).toString('utf8')
  const value = readJson(text, { duplicates: 'reject', allowance })
  if (allowance.left < 0) return rejection('The body has too many fields.', 413)
  if (Array.isArray(value)) return callError('Batches are not supported.', INVALID_REQUEST)
  if (isObject(value)) return { fields: value }
  if (value !== undefined) return callError('The body is not a JSON object.', INVALID_REQUEST)
  const isJson = readJson(text, { allowance }) !== undefined
  return isJson
    ? callError('The body has a duplicate field.', INVALID_REQUEST)
    : callError('The body is not JSON.', PARSE_ERROR)
}

function callError(rejected: string, code: number): A2aRejection {
  return { rejected, status: 200, code }
}

function rejection(rejected: string, status = 400): A2aRejection {
  return { rejected, status }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Methods, as clients write them, whose `id` is a task ID. Other methods of 1.0 use other IDs. */
const OF_TASK: ReadonlySet<string> = new Set([
  'GetTask',
  'CancelTask',
  'SubscribeToTask',
  'tasks/get',
  'tasks/cancel',
  'tasks/resubscribe',
  'tasks/pushNotificationConfig/get',
  'tasks/pushNotificationConfig/list',
  'tasks/pushNotificationConfig/delete',
])

/** Reads the parameters that rules can use, in every spelling that agents accept. */
function paramsOf(
  method: string,
  params: JsonObject,
  known: { readonly taskId?: string | undefined; readonly contextIds?: readonly string[] },
): { readonly read: JsonObject } | A2aRejection {
  const message = isObject(params.message) ? params.message : {}
  const tasks = [
    known.taskId,
    ...(OF_TASK.has(method) ? [params.id] : []),
    ...spellings(params, 'taskId', 'task_id'),
    ...spellings(message, 'taskId', 'task_id'),
    ...[params.name, params.parent].map(taskOfName),
  ]
  const contexts = [
    ...(known.contextIds ?? []),
    ...spellings(params, 'contextId', 'context_id'),
    ...spellings(message, 'contextId', 'context_id'),
  ]
  const taskId = only(tasks)
  const contextId = only(contexts)
  if (taskId === undefined || contextId === undefined) {
    return callError('The request has conflicting task or context IDs.', INVALID_PARAMS)
  }
  const { message: _, metadata: __, ...rest } = params
  const callbackUrls: string[] = []
  collectUrls(rest, callbackUrls)
  const tenant = typeof params.tenant === 'string' ? params.tenant : ''
  return {
    read: {
      ...(taskId === '' ? {} : { taskId }),
      ...(contextId === '' ? {} : { contextId }),
      ...(tenant === '' ? {} : { tenant }),
      callbackUrls,
    },
  }
}

function spellings(fields: JsonObject, ...names: readonly string[]): (Value | undefined)[] {
  return names.map((name) => fields[name])
}

/** `tasks/ID/pushNotificationConfigs/…`, as in drafts of 1.0. */
function taskOfName(name: Value | undefined): string | undefined {
  return typeof name === 'string' ? /^(?:.*\/)?tasks\/([^/]+)/.exec(name)?.[1] : undefined
}

/** Empty if none is named; undefined if more than one is. */
function only(values: readonly (Value | undefined)[]): string | undefined {
  const named = new Set(values.filter((value) => typeof value === 'string' && value !== ''))
  return named.size > 1 ? undefined : (([...named][0] as string | undefined) ?? '')
}

/** Collects every `url` of the parameters except those of the message itself, which are content. */
function collectUrls(value: Value | undefined, found: string[]): void {
  if (Array.isArray(value)) for (const item of value) collectUrls(item as Value, found)
  if (!isObject(value)) return
  for (const [name, own] of Object.entries(value)) {
    if (name === 'url' && typeof own === 'string') found.push(own)
    else collectUrls(own, found)
  }
}

function decoded(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}

function queryValue(search: string, name: string): string {
  return search === '' ? '' : (new URLSearchParams(search).get(name) ?? '')
}

/** The fuel limit for finding the ID: a body that was rejected for its size is not read twice. */
const ID_FUEL = 200_000

/** Returns the ID of a call as the client wrote it, for the error response to that call. */
export function callIdOf(body: Uint8Array | undefined): string {
  if (body === undefined || body.length === 0) return 'null'
  const text = Buffer.from(body).toString('utf8')
  const value = readJson(text, { duplicates: 'reject', allowance: { left: ID_FUEL } })
  if (!isObject(value)) return 'null'
  const id = jsonMembers(text).get('id')
  return id !== undefined && /^["\d-]/.test(id) ? id : 'null'
}
