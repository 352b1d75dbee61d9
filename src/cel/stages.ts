import type { Environment, Variable } from './check/environment.ts'
import * as T from './check/types.ts'
import { environment } from './environment.ts'
import type { Duration } from './values/duration.ts'
import type { Ip } from './values/ip.ts'
import type { CelMap } from './values/map.ts'
import type { Timestamp } from './values/timestamp.ts'
import type { Value } from './values/value.ts'

/** The places of the configuration where expressions run, each with the attributes it has. */
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

const CERTIFICATE = 'when the client presented a certificate that was verified'
const JSON_MAP: T.Type = { kind: 'map', key: T.STRING, value: T.JSON_VALUE, plain: true }
const HEADERS = { kind: 'map', key: T.STRING, value: T.STRING, caseless: true } as const

const SOURCE = {
  address: [
    T.IP,
    'always',
    'the client: the peer, or whom PROXY protocol or trusted hops name; an IP address, not a string',
  ],
  port: [T.INT, 'always', 'the port of the client; 0 where trusted hops do not tell it'],
  rawAddress: [T.IP, 'always', 'the address of the socket, before PROXY protocol or trusted hops'],
  rawPort: [T.INT, 'always', 'the port of the socket'],
  identity: [T.STRING, 'when the certificate names a SPIFFE id', 'the SPIFFE id of the client'],
  subject: [T.STRING, CERTIFICATE, 'the distinguished name of the certificate'],
  subjectCn: [T.STRING, CERTIFICATE, 'the common name of the certificate'],
  subjectAltNames: [
    T.listOf(T.STRING),
    CERTIFICATE,
    'the DNS, IP and URI names of the certificate',
  ],
  issuer: [T.STRING, CERTIFICATE, 'the distinguished name of the issuer'],
  fingerprint: [T.STRING, CERTIFICATE, 'SHA-256 of the certificate in hexadecimal'],
} as const satisfies Fields
const source = struct('source', SOURCE)

const DESTINATION = {
  address: [T.IP, 'always', 'the address that the client connected to'],
  port: [T.INT, 'always', 'the port that the client connected to'],
  hostname: [
    T.STRING,
    'on listeners with protocol TLS, when the client sent SNI; never on HTTP and HTTPS listeners',
    'the TLS server name',
  ],
} as const satisfies Fields
const destination = struct('destination', DESTINATION)

const REQUEST = {
  method: [T.STRING, 'always', 'GET, POST, …'],
  path: [T.STRING, 'always', 'the path without the query, normalised: the one that is forwarded'],
  pathAndQuery: [T.STRING, 'always', 'the path with the query'],
  query: [T.STRING, 'always', 'the query without `?`; empty where there is none'],
  uri: [T.STRING, 'always', 'scheme, host, path and query'],
  host: [T.STRING, 'always', 'the requested host, in lower case, without the port'],
  scheme: [T.STRING, 'always', 'http or https'],
  version: [T.STRING, 'always', 'HTTP/1.1 or HTTP/2'],
  headers: [HEADERS, 'always', 'by name, in any case; repeated headers join with ", "'],
  startTime: [T.TIMESTAMP, 'always', 'when the request arrived'],
  id: [T.STRING, 'always', 'the id of the request: the one that `portcullis why` takes'],
  body: [T.BYTES, 'when an expression reads it and it fits the buffer', 'the body of the request'],
} as const satisfies Fields
const request = struct('request', REQUEST)

const RESPONSE = {
  code: [T.INT, 'always', 'the HTTP status'],
  headers: [HEADERS, 'always', 'by name, in any case'],
  grpcStatus: [T.INT, 'on gRPC responses', 'the status in the trailers'],
  bytes: [T.INT, 'always', 'the length of the body that was sent'],
  duration: [
    T.DURATION,
    'always',
    'from the first byte of the request to the last of the response',
  ],
  flags: [T.STRING, 'always', 'why the gateway responded by itself; empty if it did not'],
} as const satisfies Fields
const response = struct('response', RESPONSE)

/** What there is of a response before its head is sent. */
const DRAFT = {
  code: RESPONSE.code,
  headers: [HEADERS, 'always', 'by name, in any case, as changed so far'],
  body: [
    T.BYTES,
    'when an expression reads it, but never of gRPC, HEAD, 204, 304 and upgrades; a longer one is rejected',
    'the whole body, up to `maxBufferSize`',
  ],
  flags: RESPONSE.flags,
} as const satisfies Fields
const draft = struct('response', DRAFT)

const place = struct('proxy', {
  gateway: [T.STRING, 'always', 'the name of the gateway'],
  listener: [T.STRING, 'always', 'the name of the listener'],
  route: [T.STRING, 'once a route was chosen', 'the name of the route'],
})

const backend = struct('backend', {
  name: [T.STRING, 'always', 'the name of the backend'],
  type: [T.STRING, 'always', 'static, service, ai, mcp or dynamic'],
  protocol: [T.STRING, 'always', 'http, tcp, llm or mcp'],
  provider: [T.STRING, 'on AI backends', 'the name of the provider that was chosen'],
})

const part = struct('part', {
  target: [T.STRING, 'always', 'the server that offers it'],
  name: [T.STRING, 'always', 'its name on that server'],
})

const tool = struct('tool', {
  target: [T.STRING, 'always', 'the server that offers it'],
  name: [T.STRING, 'always', 'its name on that server'],
  arguments: [JSON_MAP, 'when the tool is called; unknown when tools are listed', 'the arguments'],
})

const mcp = struct('mcp', {
  methodName: [T.STRING, 'always', 'tools/call, resources/read, …'],
  sessionId: [T.STRING, 'in a session', 'the id of the session'],
  tool: [tool, 'on tools', 'the tool'],
  prompt: [part, 'on prompts', 'the prompt'],
  resource: [part, 'on resources', 'the resource'],
})

const AGENT = 'on calls to agents'

const a2a = struct('a2a', {
  method: [
    T.STRING,
    AGENT,
    'SendMessage, GetTask, …: the name of A2A 1.0, whatever was written; GetAgentCard for the card',
  ],
  binding: [T.STRING, 'always', 'JSONRPC or HTTP+JSON'],
  version: [T.STRING, 'always', 'the revision that the client names, 0.3 if it names none'],
  taskId: [T.STRING, 'when a task is named', 'the id of the task'],
  contextId: [T.STRING, 'when a context is named', 'the id of the context'],
  tenant: [T.STRING, 'when the call names one', 'the tenant'],
  callbackUrls: [T.listOf(T.STRING), 'always', 'where the agent is to send notifications'],
})

const A2A = 'on backends with the policy `a2a`'

const CALL = 'on calls to models that are read'

/** What is known of a call before it is made. */
const MODEL_CALL = {
  requestModel: [T.STRING, CALL, 'the model that the client asked for'],
  provider: [T.STRING, 'once a provider was chosen', 'the name of the provider'],
  streaming: [T.BOOL, CALL, 'whether the client asked for a stream'],
  params: [JSON_MAP, CALL, 'temperature, max_tokens and the other parameters'],
  prompt: [T.JSON_VALUE, 'when the call has messages', 'the messages'],
  tools: [T.JSON_VALUE, 'when the call offers tools', 'the tools that the model may use'],
  inputTokens: [
    T.INT,
    CALL,
    'tokens of the request: an estimate of one for four bytes, until the provider says it',
  ],
} as const satisfies Fields

const PRICED = 'with `llm.cost`'

const cost = struct('cost', {
  total: [T.DOUBLE, PRICED, 'all of it'],
  input: [T.DOUBLE, PRICED, 'tokens of the prompt that were in no cache'],
  output: [T.DOUBLE, PRICED, 'tokens of the response, without reasoning'],
  cacheRead: [T.DOUBLE, PRICED, 'tokens read from the prompt cache'],
  cacheWrite: [T.DOUBLE, PRICED, 'tokens written to the prompt cache'],
  reasoning: [T.DOUBLE, PRICED, 'reasoning'],
})

const MODEL_RESPONSE = {
  ...MODEL_CALL,
  responseModel: [T.STRING, 'in responses', 'the model that responded'],
  outputTokens: [T.INT, 'in responses', 'tokens of the response'],
  totalTokens: [T.INT, 'in responses', 'tokens in all'],
  cost: [cost, 'in responses of models with a price', 'what it cost, in US dollars'],
} as const satisfies Fields
const llm = struct('llm', MODEL_RESPONSE)

const logged = struct('llm', {
  ...MODEL_RESPONSE,
  completion: [
    T.listOf(T.STRING),
    'in responses with text, when an expression of the access log, of tracing or of metrics reads it',
    'what the model wrote, one string for each choice, up to 262,144 characters',
  ],
})

const chosen = struct('llm', MODEL_CALL)

const CONNECTION = [
  variable('source', source, 'always', 'the client'),
  variable('destination', destination, 'always', 'the address that was connected to'),
]

const TRAFFIC = [
  ...CONNECTION,
  variable('request', request, 'always', 'the request'),
  variable(
    'jwt',
    JSON_MAP,
    'after jwtAuthentication of this policy, or of an enclosing level, verified a token',
    'the claims',
  ),
  variable('apiKey', JSON_MAP, 'after apiKey authentication', 'the metadata of the key'),
  variable(
    'basicAuth',
    struct('basicAuth', { username: [T.STRING, 'always', 'who signed in'] }),
    'after basicAuth',
    'the user',
  ),
  variable('extauthz', JSON_MAP, 'after extAuthz', 'the metadata that the service returned'),
  variable('proxy', place, 'always', 'where in the gateway the request is'),
]

const METADATA = variable(
  'metadata',
  JSON_MAP,
  'after transformations set some; rules of routes run before',
  'what `metadata` of transformations made',
)

const CHOSEN = [
  ...TRAFFIC,
  variable('backend', backend, 'always', 'the backend that was chosen'),
  METADATA,
]

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
    'the body of the request as the client sent it; `model` is the model that is called for',
  ),
]

const TRANSFORM = [
  ...TRAFFIC,
  variable('backend', backend, 'once a backend was chosen', 'the backend that was chosen'),
  METADATA,
]

const RESPONDING = [
  ...TRAFFIC,
  METADATA,
  variable('backend', backend, 'once a backend was chosen', 'the backend that was chosen'),
  variable('llm', chosen, 'on AI backends', 'the model request'),
  variable('a2a', a2a, A2A, 'the call to an agent'),
  variable('response', draft, 'always', 'the response, before its head is sent'),
]

const LOG = [
  ...TRAFFIC,
  METADATA,
  variable('backend', backend, 'once a backend was chosen', 'the backend that was chosen'),
  variable('mcp', mcp, 'on MCP traffic', 'the MCP message'),
  variable('llm', logged, 'on LLM traffic', 'the model request'),
  variable('a2a', a2a, A2A, 'the call to an agent'),
  variable('response', response, 'always', 'the answer'),
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
 * Who has attributes for expressions implements these: what is declared above and exists nowhere
 * else does not compile. A rule that reads it would never match, and a Deny rule never fire.
 */
type VariableName<S extends Stage> = (typeof DECLARED)[S][1][number]['name']

/** What expressions of a stage, or of any, are given. */
export type StageVariables<S extends Stage = Stage> = {
  readonly [Name in VariableName<S>]: Value | undefined
}

export type SourceField = keyof typeof SOURCE
export type DestinationField = keyof typeof DESTINATION
export type RequestField = keyof typeof REQUEST
export type ResponseField = keyof typeof RESPONSE
export type ResponseStageField = keyof typeof DRAFT

/** The same with the values that they have in JavaScript: a field of another type compiles neither. */
export type SourceValues = Values<typeof SOURCE>
export type DestinationValues = Values<typeof DESTINATION>
export type RequestValues = Values<typeof REQUEST>
export type ResponseValues = Values<typeof RESPONSE>
export type ResponseStageValues = Values<typeof DRAFT>

/** What is always set has a value, but for what could not be told in time. */
type Values<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name][0]> | undefined }

/** ./values/value.ts has the table. */
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
        elsewhere.set(other.name, `it is set ${where}`)
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
