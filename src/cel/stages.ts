import type { Environment, Variable } from './check/environment.ts'
import * as T from './check/types.ts'
import { environment } from './environment.ts'
import type { Duration } from './values/duration.ts'
import type { Ip } from './values/ip.ts'
import type { CelMap } from './values/map.ts'
import type { Timestamp } from './values/timestamp.ts'
import type { Value } from './values/value.ts'

/** The places in the configuration where expressions run, each with the attributes it provides. */
export type Stage =
  | 'connection'
  | 'traffic'
  | 'backend'
  | 'mcp'
  | 'llm'
  | 'transform'
  | 'response'
  | 'log'

type Fields = Readonly<Record<string, readonly [type: T.Type, set: string, doc: string]>>

const CERTIFICATE = 'if the client presented a verified certificate'
const JSON_MAP: T.Type = { kind: 'map', key: T.STRING, value: T.JSON_VALUE, plain: true }
const HEADERS = { kind: 'map', key: T.STRING, value: T.STRING, caseless: true } as const

const SOURCE = {
  address: [
    T.IP,
    'always',
    'the address of the client, after applying the PROXY protocol and trusted hops; an IP address, not a string',
  ],
  port: [T.INT, 'always', 'the port of the client; 0 if trusted hops do not provide it'],
  rawAddress: [
    T.IP,
    'always',
    'the address of the TCP peer, before applying the PROXY protocol and trusted hops',
  ],
  rawPort: [T.INT, 'always', 'the port of the TCP peer'],
  identity: [T.STRING, 'if the certificate contains a SPIFFE ID', 'the SPIFFE ID of the client'],
  subject: [T.STRING, CERTIFICATE, 'the distinguished name of the subject'],
  subjectCn: [T.STRING, CERTIFICATE, 'the common name of the subject'],
  subjectAltNames: [
    T.listOf(T.STRING),
    CERTIFICATE,
    'the DNS, IP and URI names of the certificate',
  ],
  issuer: [T.STRING, CERTIFICATE, 'the distinguished name of the issuer'],
  fingerprint: [
    T.STRING,
    CERTIFICATE,
    'the SHA-256 fingerprint of the certificate, in hexadecimal',
  ],
} as const satisfies Fields
const source = struct('source', SOURCE)

const DESTINATION = {
  address: [T.IP, 'always', 'the address that the client connected to'],
  port: [T.INT, 'always', 'the port that the client connected to'],
  hostname: [
    T.STRING,
    'on TLS listeners, if the client sent SNI; never on HTTP and HTTPS listeners',
    'the TLS server name',
  ],
} as const satisfies Fields
const destination = struct('destination', DESTINATION)

const REQUEST = {
  method: [T.STRING, 'always', 'GET, POST, …'],
  path: [T.STRING, 'always', 'the normalized path without the query, as forwarded'],
  pathAndQuery: [T.STRING, 'always', 'the path including the query'],
  query: [T.STRING, 'always', 'the query without `?`; empty if there is none'],
  uri: [T.STRING, 'always', 'scheme, host, path and query'],
  host: [T.STRING, 'always', 'the requested host in lowercase, without the port'],
  scheme: [T.STRING, 'always', 'http or https'],
  version: [T.STRING, 'always', 'HTTP/1.1 or HTTP/2'],
  headers: [
    HEADERS,
    'always',
    'the request headers by case-insensitive name; repeated headers are joined with ", "',
  ],
  startTime: [T.TIMESTAMP, 'always', 'the time at which the request arrived'],
  id: [T.STRING, 'always', 'the ID of the request, as used by `portcullis why`'],
  body: [
    T.BYTES,
    'if the request has one that fits into the buffer, and an expression reads it',
    'the request body',
  ],
} as const satisfies Fields
const request = struct('request', REQUEST)

const RESPONSE = {
  code: [T.INT, 'always', 'the HTTP status code'],
  headers: [HEADERS, 'always', 'the response headers by case-insensitive name'],
  grpcStatus: [T.INT, 'on gRPC responses', 'the gRPC status from the trailers'],
  bytes: [T.INT, 'always', 'the size of the body that was sent'],
  duration: [
    T.DURATION,
    'always',
    'the time from the first byte of the request to the last byte of the response',
  ],
  flags: [T.STRING, 'always', 'why the gateway generated the response; empty if it did not'],
} as const satisfies Fields
const response = struct('response', RESPONSE)

/** The parts of a response that exist before its head is sent. */
const DRAFT = {
  code: RESPONSE.code,
  headers: [
    HEADERS,
    'always',
    'the response headers by case-insensitive name, including changes so far',
  ],
  body: [
    T.BYTES,
    'if an expression reads it; never for gRPC, HEAD, 204, 304 and upgrades; larger bodies are rejected',
    'the complete body, up to `maxBufferSize`',
  ],
  flags: RESPONSE.flags,
} as const satisfies Fields
const draft = struct('response', DRAFT)

const place = struct('proxy', {
  gateway: [T.STRING, 'always', 'the name of the gateway'],
  listener: [T.STRING, 'always', 'the name of the listener'],
  route: [T.STRING, 'after a route was chosen', 'the name of the route'],
})

const backend = struct('backend', {
  name: [T.STRING, 'always', 'the name of the backend'],
  type: [T.STRING, 'always', 'static, service, ai, mcp or dynamic'],
  protocol: [T.STRING, 'always', 'http, tcp, llm or mcp'],
  provider: [T.STRING, 'on AI backends', 'the name of the chosen provider'],
})

const part = struct('part', {
  target: [T.STRING, 'always', 'the name of the server'],
  name: [T.STRING, 'always', 'the name on that server'],
})

const tool = struct('tool', {
  target: [T.STRING, 'always', 'the name of the server'],
  name: [T.STRING, 'always', 'the name of the tool on that server'],
  arguments: [
    JSON_MAP,
    'if the tool is called; unknown if tools are listed',
    'the arguments of the call',
  ],
})

const mcp = struct('mcp', {
  methodName: [T.STRING, 'always', 'tools/call, resources/read, …'],
  sessionId: [T.STRING, 'within a session', 'the session ID'],
  tool: [tool, 'for tools', 'the tool'],
  prompt: [part, 'for prompts', 'the prompt'],
  resource: [part, 'for resources', 'the resource'],
})

const AGENT = 'for calls to agents'

const a2a = struct('a2a', {
  method: [
    T.STRING,
    AGENT,
    'the A2A 1.0 name of the method: SendMessage, GetTask, …; GetAgentCard for the card',
  ],
  binding: [T.STRING, 'always', 'JSONRPC or HTTP+JSON'],
  version: [T.STRING, 'always', 'the protocol version that the client requested; 0.3 by default'],
  taskId: [T.STRING, 'if the call refers to a task', 'the task ID'],
  contextId: [T.STRING, 'if the call refers to a context', 'the context ID'],
  tenant: [T.STRING, 'if the call names a tenant', 'the tenant'],
  callbackUrls: [T.listOf(T.STRING), 'always', 'the URLs to which the agent sends notifications'],
})

const A2A = 'on backends with the `a2a` policy'

const CALL = 'for model calls that the gateway parses'

/** The attributes of a call that are known before it is made. */
const MODEL_CALL = {
  requestModel: [T.STRING, CALL, 'the model that the client requested'],
  provider: [T.STRING, 'after a provider was chosen', 'the name of the provider'],
  streaming: [T.BOOL, CALL, 'whether the client requested a stream'],
  params: [JSON_MAP, CALL, 'temperature, max_tokens and other parameters'],
  prompt: [T.JSON_VALUE, 'if the call has messages', 'the messages'],
  tools: [T.JSON_VALUE, 'if the call offers tools', 'the tools that the model can use'],
  inputTokens: [
    T.INT,
    CALL,
    'the number of input tokens: an estimate of one per four bytes, until the provider reports it',
  ],
} as const satisfies Fields

const PRICED = 'with `llm.cost`'

const cost = struct('cost', {
  total: [T.DOUBLE, PRICED, 'the total cost'],
  input: [T.DOUBLE, PRICED, 'the cost of uncached prompt tokens'],
  output: [T.DOUBLE, PRICED, 'the cost of response tokens, without reasoning'],
  cacheRead: [T.DOUBLE, PRICED, 'the cost of tokens read from the prompt cache'],
  cacheWrite: [T.DOUBLE, PRICED, 'the cost of tokens written to the prompt cache'],
  reasoning: [T.DOUBLE, PRICED, 'the cost of reasoning tokens'],
})

const MODEL_RESPONSE = {
  ...MODEL_CALL,
  responseModel: [T.STRING, 'in responses', 'the model that generated the response'],
  outputTokens: [T.INT, 'in responses', 'the number of output tokens'],
  totalTokens: [T.INT, 'in responses', 'the total number of tokens'],
  cost: [cost, 'in responses from models with a price', 'the cost of the call in US dollars'],
} as const satisfies Fields
const llm = struct('llm', MODEL_RESPONSE)

const logged = struct('llm', {
  ...MODEL_RESPONSE,
  completion: [
    T.listOf(T.STRING),
    'in responses with text, if an expression of the access log, tracing or metrics reads it',
    'the generated text, one string per choice, up to 262,144 characters',
  ],
})

const chosen = struct('llm', MODEL_CALL)

const CONNECTION = [
  variable('source', source, 'always', 'the client'),
  variable('destination', destination, 'always', 'the address that the client connected to'),
]

const TRAFFIC = [
  ...CONNECTION,
  variable('request', request, 'always', 'the request'),
  variable(
    'jwt',
    JSON_MAP,
    'after `jwtAuthentication` at this level or an enclosing one verified a token',
    'the claims of the token',
  ),
  variable('apiKey', JSON_MAP, 'after `apiKey` authentication', 'the metadata of the key'),
  variable(
    'basicAuth',
    struct('basicAuth', { username: [T.STRING, 'always', 'the name of the user'] }),
    'after `basicAuth`',
    'the authenticated user',
  ),
  variable('extauthz', JSON_MAP, 'after `extAuthz`', 'the metadata that the service returned'),
  variable('proxy', place, 'always', 'the gateway, listener and route of the request'),
]

const METADATA = variable(
  'metadata',
  JSON_MAP,
  'after `transformations` set it; rules of routes run earlier',
  'the values that `metadata` of `transformations` computed',
)

const CHOSEN = [...TRAFFIC, variable('backend', backend, 'always', 'the chosen backend'), METADATA]

const BACKEND = [
  ...CHOSEN,
  variable('llm', chosen, 'on AI backends', 'the model request'),
  variable('a2a', a2a, A2A, 'the call to an agent'),
]
const MCP = [...CHOSEN, variable('mcp', mcp, 'always', 'the MCP message')]
const LLM = [
  ...CHOSEN,
  variable('llm', llm, 'always', 'the model request'),
  variable(
    'llmRequest',
    JSON_MAP,
    CALL,
    'the request body as sent by the client; `model` is the model to call',
  ),
]

const TRANSFORM = [
  ...TRAFFIC,
  variable('backend', backend, 'after a backend was chosen', 'the chosen backend'),
  METADATA,
]

const RESPONDING = [
  ...TRAFFIC,
  METADATA,
  variable('backend', backend, 'after a backend was chosen', 'the chosen backend'),
  variable('llm', chosen, 'on AI backends', 'the model request'),
  variable('a2a', a2a, A2A, 'the call to an agent'),
  variable('response', draft, 'always', 'the response, before its headers are sent'),
]

const LOG = [
  ...TRAFFIC,
  METADATA,
  variable('backend', backend, 'after a backend was chosen', 'the chosen backend'),
  variable('mcp', mcp, 'for MCP traffic', 'the MCP message'),
  variable('llm', logged, 'for LLM traffic', 'the model request'),
  variable('a2a', a2a, A2A, 'the call to an agent'),
  variable('response', response, 'always', 'the response'),
]

const DECLARED = {
  connection: ['in network authorization', CONNECTION],
  traffic: ['in traffic policies', TRAFFIC],
  backend: ['in backend policies', BACKEND],
  mcp: ['in MCP authorization', MCP],
  llm: ['in LLM policies', LLM],
  transform: ['in transformations', TRANSFORM],
  response: ['in policies on responses', RESPONDING],
  log: ['in logs', LOG],
} as const satisfies Record<Stage, readonly [string, readonly Variable[]]>

/*
 * Providers of attributes implement these types, so that an attribute that is declared above but
 * provided nowhere does not compile. A rule that reads it would never match, and a Deny rule would
 * never fire.
 */
type VariableName<S extends Stage> = (typeof DECLARED)[S][1][number]['name']

/** The variables that expressions of one stage, or of any stage, receive. */
export type StageVariables<S extends Stage = Stage> = {
  readonly [Name in VariableName<S>]: Value | undefined
}

export type SourceField = keyof typeof SOURCE
export type DestinationField = keyof typeof DESTINATION
export type RequestField = keyof typeof REQUEST
export type ResponseField = keyof typeof RESPONSE
export type ResponseStageField = keyof typeof DRAFT

/** The same with their JavaScript value types: a field of another type does not compile either. */
export type SourceValues = Values<typeof SOURCE>
export type DestinationValues = Values<typeof DESTINATION>
export type RequestValues = Values<typeof REQUEST>
export type ResponseValues = Values<typeof RESPONSE>
export type ResponseStageValues = Values<typeof DRAFT>

/** An attribute that is always set has a value, unless it could not be determined in time. */
type Values<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name][0]> | undefined }

/** See the table in ./values/value.ts. */
type ValueOf<Type> = Type extends { readonly kind: infer Kind extends keyof Kinds }
  ? Kinds[Kind]
  : Type extends { readonly kind: 'list'; readonly element: infer Element }
    ? readonly ValueOf<Element>[]
    : never

interface Kinds {
  readonly string: string
  readonly int: number
  readonly bytes: Uint8Array
  readonly timestamp: Timestamp
  readonly duration: Duration
  readonly ip: Ip
  readonly map: CelMap
}

/** The environment of each stage. */
export const STAGES: Readonly<Record<Stage, Environment>> = {
  connection: stage('connection'),
  traffic: stage('traffic'),
  backend: stage('backend'),
  mcp: stage('mcp'),
  llm: stage('llm'),
  transform: stage('transform'),
  response: stage('response'),
  log: stage('log'),
}

function stage(name: Stage): Environment {
  const [place, variables] = DECLARED[name]
  const own = new Set<string>(variables.map((known) => known.name))
  const elsewhere = new Map<string, string>()
  for (const [where, others] of Object.values(DECLARED)) {
    for (const other of others) {
      if (!own.has(other.name) && !elsewhere.has(other.name)) {
        elsewhere.set(other.name, `it is available ${where}`)
      }
    }
  }
  return environment({ name: place, variables, elsewhere })
}

function variable<const Name extends string>(
  name: Name,
  type: T.Type,
  set: string,
  doc: string,
): Variable & { readonly name: Name } {
  return { name, type, set, doc }
}

function struct(name: string, fields: Fields): T.Type {
  const entries = Object.entries(fields).map(
    ([field, [type, set, doc]]) => [field, { type, set, doc }] as const,
  )
  return { kind: 'struct', name, fields: new Map(entries) }
}
