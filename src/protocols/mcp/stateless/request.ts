import type { Exchange } from '../../../exchange/exchange.ts'
import { editJson, jsonMembers } from '../../json-text.ts'
import { CODES, errorText, type McpError } from '../errors.ts'
import { isObject } from '../message.ts'
import { HANDSHAKE_REVISIONS } from '../revisions.ts'
import type { SentMessage, ServerFailure } from '../server.ts'

/** The revision without sessions that is translated. */
export const STATELESS_REVISION = '2026-07-28'

const RESERVED = 'io.modelcontextprotocol/'
/** Keys of `_meta` with the client's description of itself, which earlier revisions do not have. */
const ENVELOPE: ReadonlySet<string> = new Set(
  ['protocolVersion', 'clientInfo', 'clientCapabilities', 'logLevel'].map(
    (key) => `${RESERVED}${key}`,
  ),
)
/** Members of `params` that earlier revisions do not have, or use for something else. */
const DROPPED: ReadonlySet<string> = new Set(['inputResponses', 'requestState', 'task'])
/** Methods whose results may request input of the client. */
const INPUT_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
/** The requests of servers that clients of both revisions serve, and the capability for each. */
const INPUT_CAPABILITIES: ReadonlyMap<string, string> = new Map([
  ['elicitation/create', 'elicitation'],
  ['sampling/createMessage', 'sampling'],
  ['roots/list', 'roots'],
])

/** A request of a client that has no session. */
export interface StatelessRequest {
  readonly method: string
  /** As the client wrote it. */
  readonly id: string
  readonly text: string
  readonly exchange: Exchange
  /** `params` of the `initialize` that introduces this client to a server. */
  readonly initialize: string
  readonly capabilities: Readonly<Record<string, unknown>>
  /** As written; undefined if the client wants no progress. */
  readonly progressToken: string | undefined
  readonly logLevel: string | undefined
  /** The state of an earlier result that requested input. */
  readonly requestState: string | undefined
  /** The client's responses, as written, by the names of the requests. */
  readonly inputResponses: ReadonlyMap<string | number, string>
}

/** Returns the failure for the client if it does not describe itself as the revision requires. */
export function readStateless(
  { id, method, text, version = '' }: SentMessage,
  exchange: Exchange,
): StatelessRequest | ServerFailure {
  if (version !== STATELESS_REVISION) {
    const message = 'Unsupported protocol version'
    const data = { supported: [STATELESS_REVISION], requested: version }
    return errorFailure(400, id, { code: CODES.unsupportedVersion, message, data })
  }
  const rawParams = jsonMembers(text).get('params') ?? '{}'
  const params = jsonMembers(rawParams)
  const rawMeta = params.get('_meta') ?? '{}'
  const meta = JSON.parse(rawMeta) as Readonly<Record<string, unknown>>
  const capabilities = meta[`${RESERVED}clientCapabilities`]
  if (!isObject(capabilities)) {
    const message = `Invalid params: the request is missing \`_meta\` with ${RESERVED}clientCapabilities`
    return errorFailure(400, id, { code: CODES.invalidParams, message })
  }
  const logLevel = meta[`${RESERVED}logLevel`]
  const state = params.get('requestState')
  const responses = params.get('inputResponses') ?? '{}'
  return {
    method,
    id,
    text,
    exchange,
    initialize: introduction(jsonMembers(rawMeta)),
    capabilities,
    progressToken: jsonMembers(rawMeta).get('progressToken'),
    logLevel: typeof logLevel === 'string' ? logLevel : undefined,
    requestState: state?.startsWith('"') ? (JSON.parse(state) as string) : undefined,
    inputResponses: responses.startsWith('{') ? jsonMembers(responses) : new Map(),
  }
}

/** Returns the same text for clients that a server cannot distinguish. */
function introduction(meta: ReadonlyMap<string | number, string>): string {
  // A client without a session reports no changed roots, and tasks have changed since.
  const capabilities = editJson(meta.get(`${RESERVED}clientCapabilities`) ?? '{}', (path) => {
    if (path.length === 0) return 'enter'
    if (path[0] === 'roots') return { text: '{}' }
    return path[0] === 'tasks' ? 'drop' : 'keep'
  })
  const info = meta.get(`${RESERVED}clientInfo`)
  const clientInfo = info?.startsWith('{') ? info : '{"name":"unknown","version":"0"}'
  const version = JSON.stringify(HANDSHAKE_REVISIONS[0])
  return `{"protocolVersion":${version},"capabilities":${capabilities},"clientInfo":${clientInfo}}`
}

/** True if the server may request input of the client while it serves this. */
export function mayRequestInput({ method, capabilities }: StatelessRequest): boolean {
  return (
    INPUT_METHODS.has(method) &&
    [...INPUT_CAPABILITIES.values()].some((name) => isObject(capabilities[name]))
  )
}

/** The capability of clients that serve such a request of a server while it serves this one. */
export function capabilityFor(request: StatelessRequest, method: string): string | undefined {
  return INPUT_METHODS.has(request.method) ? INPUT_CAPABILITIES.get(method) : undefined
}

/** Returns the request for a server of an earlier revision, with an ID of the gateway. */
export function textForServer({ text, progressToken }: StatelessRequest, id: string): string {
  return editJson(text, (path) => {
    const [first, second, third] = path
    if (path.length === 0) return 'enter'
    if (first === 'id') return { text: id }
    if (first !== 'params') return 'keep'
    if (path.length === 1) return 'enter'
    if (second !== '_meta') return DROPPED.has(String(second)) ? 'drop' : 'keep'
    if (path.length === 2) return 'enter'
    if (third === 'progressToken' && progressToken !== undefined) return { text: id }
    return ENVELOPE.has(String(third)) ? 'drop' : 'keep'
  })
}

/** A failure whose body is the response. */
export function errorFailure(
  status: number,
  id: string,
  error: McpError,
): ServerFailure & { readonly body: string } {
  const body = errorText(id, error)
  return { status, reason: 'server-error', body, contentType: 'application/json' }
}
