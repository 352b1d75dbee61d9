import type { ResponseField, ResponseValues, StageVariables } from '../cel/stages.ts'
import { type Duration, durationOf } from '../cel/values/duration.ts'
import { LEDGER, Ledger, type ReadingLimits } from '../cel/values/ledger.ts'
import { Struct } from '../cel/values/struct.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { Reason } from '../telemetry/definitions/labels.ts'
import type { RequestAttributes } from './attributes.ts'
import type { Connection, Destination, Source } from './connection.ts'
import { type Decision, NO_DECISIONS } from './decision.ts'
import type { ErrorFormat } from './error-format.ts'
import type { ForwardedHeaders } from './forwarded-headers.ts'
import { type AttachedGuardrails, NO_GUARDRAILS } from './guardrails.ts'
import { ALL_WRITTEN, type HeaderEdit, NO_EDIT } from './header-edit.ts'
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
 * `response` in expressions. Created after the exchange for the log, or when a response starts, to
 * decide whether to retry, and only if such an expression reads it.
 */
export class ResponseAttributes extends Struct implements ResponseValues {
  override readonly structName: string = 'response'
  override readonly fieldNames = RESPONSE_FIELDS
  readonly code: number
  readonly headers: HeaderView | undefined
  readonly grpcStatus: number | undefined
  readonly bytes: number
  readonly milliseconds: number
  /** Why the gateway generated the response; empty if it did not. */
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

/** The endpoints of one backend that a request may be sent to. */
export interface PickedEndpoints {
  readonly backend: string
  /** In the form `ip:port`, in order of preference. */
  readonly endpoints: readonly string[]
  /** Whether the backend may choose an endpoint itself if it has none of these. */
  readonly isOpen: boolean
}

/**
 * One request and its response, from the head to the last byte: the only mutable object on the
 * request path. Expressions read their variables from it, so its first fields have the names of
 * variables.
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

  /** All identities found for the client, newest first. */
  identity: Identity | undefined = undefined
  /**
   * The scope through which `jwt`, `apiKey`, `basicAuth` and `extauthz` are seen; undefined: the
   * most specific values.
   */
  scope: Scope | undefined = undefined

  /** The beginning of a body that is too long to buffer; `request.body` is unset then. */
  bodyBeginning: Uint8Array | undefined = undefined
  /** The body as received, if expressions read it with its Content-Encoding decoded. */
  codedBody: Uint8Array | undefined = undefined

  /** Limits on what expressions read from the message; undefined: the default limits. */
  readingLimits: ReadingLimits | undefined = undefined
  ledger: Ledger | undefined = undefined

  readonly connection: Connection
  /** What the upstream receives: policies may rewrite these; rules keep reading `request`. */
  path: string
  search: string
  /** If empty, the host that the client requested. */
  host = ''
  /** The backend receives its own name as Host, even if it was not configured as a URL. */
  namesBackend = false
  requestEdit: HeaderEdit = NO_EDIT
  /** Headers about the client for the backend; undefined: those that the client sent. */
  forwarded: ForwardedHeaders | undefined = undefined
  responseEdit: HeaderEdit = NO_EDIT
  /**
   * Headers that identify the gateway or the client to the backend; mirrors do not receive them.
   */
  credentialEdit: HeaderEdit = NO_EDIT
  /** The same in the query: `key=abc`, or empty. */
  credentialQuery = ''
  /**
   * Called if the backend rejects that credential; returns the response for the client. Undefined:
   * the backend's response is kept.
   */
  credentialRejected: (() => Promise<Reply>) | undefined = undefined
  /** A policy allows requests of pages with this Origin. */
  allowsOrigin = false
  /** The route or the listener is configured for this Host, rather than for any. */
  namesHost = false
  /** The path prefix that the route matched, for prefix rewrites and redirects. */
  matchedPrefix = ''

  /** The outcome, for logs and metrics. */
  status = 0
  /** The source of the response, as in the metric label `reason`; empty until it is known. */
  reason: Reason | '' = ''
  /** Further details, for the log only: `connect-rejected`, `both-lengths`. */
  detail = ''
  /** The format of gateway errors for this client; undefined: plain HTTP. */
  errorFormat: ErrorFormat | undefined = undefined
  /** The URL at which OAuth clients find the metadata of this resource; empty if there is none. */
  resourceMetadata = ''
  /** Why authentication rejected the request, if it did. Decision records read it. */
  rejection: Rejection | undefined = undefined
  /** The policy whose step responded, if one did. Decision records read it. */
  repliedBy: PolicyPlace | undefined = undefined
  bytesReceived = 0
  bytesSent = 0
  /** As sent to the client; kept only if a log expression reads them. */
  responseHeaders: HeaderView | undefined = undefined
  /** -1 if the response has none. */
  grpcStatus = -1
  /** Headers of the response that policies were to write, and that could not be sent. */
  unwritten: readonly string[] = ALL_WRITTEN
  /** What is recorded about an MCP message; undefined for other requests. */
  mcpRecord: McpRecord | undefined = undefined
  /** Usage limits that apply to its calls to models; charged once the call is known. */
  usageLimits: readonly UsageLimit[] = NO_USAGE_LIMITS
  /** Guardrails for calls to models; set by the steps of a provider. */
  guardrails: readonly AttachedGuardrails[] = NO_GUARDRAILS
  /** Credentials from the environment that sign a call to a model. */
  awsCredentials:
    | {
        readonly accessKeyId: string
        readonly secretAccessKey: string
        readonly sessionToken?: string | undefined
      }
    | undefined = undefined
  /** For a call to a model: the host of the chosen provider. */
  providerHost: string | undefined = undefined
  /** Endpoints that an endpoint picker chose; undefined: the backend chooses. */
  picked: PickedEndpoints | undefined = undefined
  /** Called when the exchange ends, for any reason. */
  onOver: (() => void) | undefined = undefined
  /** Decisions about this request that are recorded, denials above all. */
  decisions: readonly Decision[] = NO_DECISIONS

  /** `source`: the client as reported by trusted proxies; by default that of the connection. */
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

  /** Changes to the headers that the backend receives, including its credential. */
  get sentEdit(): HeaderEdit {
    const { requestEdit, credentialEdit } = this
    return credentialEdit === NO_EDIT ? requestEdit : requestEdit.with(credentialEdit)
  }

  /** The query that the backend receives, with its question mark and its credential. */
  get sentSearch(): string {
    const { search, credentialQuery } = this
    if (credentialQuery === '') return search
    return `${search === '' ? '?' : `${search}&`}${credentialQuery}`
  }

  /** The shared cost budget of all expressions of this exchange. */
  get [LEDGER](): Ledger {
    this.ledger ??= new Ledger(this.readingLimits)
    return this.ledger
  }

  /** Records the identity that an authentication found; visible only to scopes that include it. */
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

  /** Restores an earlier identity. */
  identifyAs(identity: Identity | undefined): void {
    this.identity = identity
    this.scope = undefined
    this.jwt = newestValue('jwt', identity)
    this.apiKey = newestValue('apiKey', identity)
    this.basicAuth = newestValue('basicAuth', identity)
    this.extauthz = newestValue('extauthz', identity)
  }

  /**
   * Makes later evaluations see the identities of this scope. Every caller that evaluates an
   * expression of a policy enters its scope first; there is no need to leave a scope.
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
