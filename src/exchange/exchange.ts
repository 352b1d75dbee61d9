import type { ResponseField, ResponseValues, StageVariables } from '../cel/stages.ts'
import { type Duration, durationOf } from '../cel/values/duration.ts'
import { LEDGER, Ledger, type ReadingLimits } from '../cel/values/ledger.ts'
import { Struct } from '../cel/values/struct.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { Reason } from '../telemetry/definitions/labels.ts'
import type { RequestAttributes } from './attributes.ts'
import type { Connection, Destination, Source } from './connection.ts'
import { type Decision, NO_DECISIONS } from './decision.ts'
import type { ErrorFormat } from './error-format.ts'
import { type AttachedGuardrails, NO_GUARDRAILS } from './guardrails.ts'
import { type HeaderEdit, NO_EDIT } from './header-edit.ts'
import type { HeaderView } from './header-view.ts'
import {
  type ClientCredential,
  type Identity,
  type IdentityVariable,
  newestValue,
  type Scope,
  valueIn,
} from './identity.ts'
import type { McpRecord } from './mcp-record.ts'
import type { Rejection } from './rejection.ts'
import type { Reply } from './reply.ts'
import type { DraftAttributes } from './response-draft.ts'
import { NO_USAGE_LIMITS, type UsageLimit } from './usage-limit.ts'

export type { StageVariables } from '../cel/stages.ts'

const RESPONSE_FIELDS: ReadonlySet<string> = new Set<ResponseField>([
  'code',
  'headers',
  'grpcStatus',
  'bytes',
  'duration',
  'flags',
])

/**
 * `response` in expressions: made when all is over, for the log, or when a response begins, to ask
 * whether it is one to try again after. Only where one of them reads it.
 */
export class ResponseAttributes extends Struct implements ResponseValues {
  override readonly structName: string = 'response'
  override readonly fieldNames = RESPONSE_FIELDS
  readonly code: number
  readonly headers: HeaderView | undefined
  readonly grpcStatus: number | undefined
  readonly bytes: number
  readonly milliseconds: number
  /** Why the gateway responded by itself; empty where it did not. */
  readonly flags: string

  constructor(
    exchange: Exchange,
    milliseconds: number,
    headers: HeaderView | undefined = exchange.responseHeaders,
  ) {
    super()
    this.code = exchange.status
    this.headers = headers
    this.grpcStatus = exchange.grpcStatus < 0 ? undefined : exchange.grpcStatus
    this.bytes = exchange.bytesSent
    this.milliseconds = milliseconds
    this.flags = exchange.reason === 'upstream' ? '' : exchange.reason
  }

  get duration(): Duration | undefined {
    return durationOf(0, Math.round(this.milliseconds * 1_000_000))
  }
}

/** Where one backend is to send a request. */
export interface PickedEndpoints {
  readonly backend: string
  /** As `ip:port`, the preferred first. */
  readonly endpoints: readonly string[]
  /** Whether the backend may choose where it has none of them. */
  readonly isOpen: boolean
}

/**
 * One request and its response, from the head to the last byte: the only object on the request path
 * that changes. It is also what expressions read their variables from, so the names of its first
 * fields are theirs.
 */
export class Exchange implements StageVariables {
  readonly source: Source
  readonly destination: Destination
  readonly request: RequestAttributes
  jwt: JsonObject | undefined = undefined
  apiKey: JsonObject | undefined = undefined
  basicAuth: JsonObject | undefined = undefined
  extauthz: JsonObject | undefined = undefined
  proxy: JsonObject | undefined = undefined
  backend: JsonObject | undefined = undefined
  mcp: JsonObject | undefined = undefined
  llm: JsonObject | undefined = undefined
  llmRequest: JsonObject | undefined = undefined
  a2a: JsonObject | undefined = undefined
  metadata: JsonObject | undefined = undefined
  response: ResponseAttributes | DraftAttributes | JsonObject | undefined = undefined

  /** All that is known of who asks, the latest first. */
  identity: Identity | undefined = undefined
  /** Whose view `jwt`, `apiKey`, `basicAuth` and `extauthz` show; undefined: the most specific. */
  scope: Scope | undefined = undefined

  /** Of a body that is too long to be kept, as far as it was; `request.body` is unset then. */
  bodyBeginning: Uint8Array | undefined = undefined
  /** As it came, where expressions read what stands behind its Content-Encoding. */
  codedBody: Uint8Array | undefined = undefined

  /** What expressions read of what was sent; undefined: as much as they do anywhere. */
  readingLimits: ReadingLimits | undefined = undefined
  ledger: Ledger | undefined = undefined

  readonly connection: Connection
  /** What the upstream gets: policies may rewrite these; rules keep reading `request`. */
  path: string
  search: string
  /** Empty: the host that the client asked for. */
  host = ''
  /** The backend is sent its own name as Host, also where it was not written as a URL. */
  namesBackend = false
  requestEdit: HeaderEdit = NO_EDIT
  responseEdit: HeaderEdit = NO_EDIT
  /** What the backend alone is sent to know the gateway or the client by; mirrors are not. */
  credentialEdit: HeaderEdit = NO_EDIT
  /** The same in the query: `key=abc`, or empty. */
  credentialQuery = ''
  /** The backend did not accept that credential; what the client is told. Undefined: nobody cares. */
  credentialRejected: (() => Promise<Reply>) | undefined = undefined
  /** The prefix of the path that the route matched, for prefix rewrites and redirects. */
  matchedPrefix = ''

  /** What became of it, for logs and metrics. */
  status = 0
  /** Who or what made the response, in a word of the metric's label `reason`; empty until it is known. */
  reason: Reason | '' = ''
  /** More about it, for the log alone: `connect-rejected`, `both-lengths`. */
  detail = ''
  /** How errors of the gateway are written for this client; undefined: as those of HTTP are. */
  errorFormat: ErrorFormat | undefined = undefined
  /** Where OAuth clients find out what this resource is; empty: nobody says so. */
  resourceMetadata = ''
  /** Why an authentication turned it away, where one did. Decision records read it. */
  rejection: Rejection | undefined = undefined
  bytesReceived = 0
  bytesSent = 0
  /** As the client got them; kept only where an expression of the log reads them. */
  responseHeaders: HeaderView | undefined = undefined
  /** -1: the response had none. */
  grpcStatus = -1
  /** What is told of a message of MCP; undefined: it is none. */
  mcpRecord: McpRecord | undefined = undefined
  /** Limits on what calls to models use that it counts for; taken from once the call is known. */
  usageLimits: readonly UsageLimit[] = NO_USAGE_LIMITS
  /** What calls to models must pass; set by the steps of a provider. */
  guardrails: readonly AttachedGuardrails[] = NO_GUARDRAILS
  /** What a call to a model is signed with, if the environment gives it. */
  awsCredentials:
    | {
        readonly accessKeyId: string
        readonly secretAccessKey: string
        readonly sessionToken?: string | undefined
      }
    | undefined = undefined
  /** Of a call to a model: the host of the provider that was chosen. */
  providerHost: string | undefined = undefined
  /** Endpoints of a backend that somebody picked for it; undefined: the backend chooses. */
  picked: PickedEndpoints | undefined = undefined
  /** Called when all of it is over, whatever way. */
  onOver: (() => void) | undefined = undefined
  /** What was decided about it and is worth telling: denials above all. */
  decisions: readonly Decision[] = NO_DECISIONS

  /** `source`: the client, where proxies in front say who it is; as a rule that of the connection. */
  constructor(
    connection: Connection,
    request: RequestAttributes,
    source: Source = connection.source,
  ) {
    this.source = source
    this.destination = connection.destination
    this.request = request
    this.connection = connection
    this.path = request.path
    this.search = request.search
  }

  /** Changes of the headers that the backend gets, with its credential. */
  get sentEdit(): HeaderEdit {
    const { requestEdit, credentialEdit } = this
    return credentialEdit === NO_EDIT ? requestEdit : requestEdit.with(credentialEdit)
  }

  /** The query that the backend gets, with its question mark and its credential. */
  get sentSearch(): string {
    const { search, credentialQuery } = this
    if (credentialQuery === '') return search
    return `${search === '' ? '?' : `${search}&`}${credentialQuery}`
  }

  /** What all expressions of this exchange may cost together. */
  get [LEDGER](): Ledger {
    this.ledger ??= new Ledger(this.readingLimits)
    return this.ledger
  }

  /** An authentication found out who asks; only those whose scope has it will see it. */
  identify(
    by: object,
    variable: IdentityVariable,
    value: JsonObject,
    credential?: ClientCredential,
  ): void {
    this.enter(undefined)
    this.identity = { by, variable, value, credential, earlier: this.identity }
    this[variable] = value
  }

  /** Who asks is what it was known to be at some time before. */
  identifyAs(identity: Identity | undefined): void {
    this.identity = identity
    this.scope = undefined
    this.jwt = newestValue('jwt', identity)
    this.apiKey = newestValue('apiKey', identity)
    this.basicAuth = newestValue('basicAuth', identity)
    this.extauthz = newestValue('extauthz', identity)
  }

  /**
   * What is evaluated from here on sees who asks as this scope does. Whoever evaluates an
   * expression of a policy enters its scope before; nothing has to be left.
   */
  enter(scope: Scope | undefined): void {
    if (this.scope === scope) return
    this.scope = scope
    const { identity } = this
    if (identity === undefined) return
    if (scope === undefined) {
      this.jwt = newestValue('jwt', identity)
      this.apiKey = newestValue('apiKey', identity)
      this.basicAuth = newestValue('basicAuth', identity)
      this.extauthz = newestValue('extauthz', identity)
    } else {
      this.jwt = valueIn(scope.jwt, 'jwt', identity)
      this.apiKey = valueIn(scope.apiKey, 'apiKey', identity)
      this.basicAuth = valueIn(scope.basicAuth, 'basicAuth', identity)
      this.extauthz = valueIn(scope.extauthz, 'extauthz', identity)
    }
  }
}
