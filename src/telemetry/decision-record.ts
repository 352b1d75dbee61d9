import type { Reason } from './definitions/labels.ts'

/** One decision about a connection or a request, as JSON: kept, written, shown, replayed. */
export interface DecisionRecord {
  readonly id: string
  readonly time: string
  readonly kind: DecisionKind
  readonly stage: DecisionStage
  /** `rejected`: no rule and no authentication denied it; the gateway could not serve it. */
  readonly verdict: 'allowed' | 'denied' | 'rejected'
  /** False: policies in audit mode would have denied it, but it was allowed. */
  readonly enforced: boolean
  readonly cause: DecisionCause
  readonly reason?: string
  readonly detail?: string
  /** For `unset`: the missing variable, and the names of those present in its place. */
  readonly variable?: string
  readonly present?: readonly string[]
  readonly credentials?: CredentialsRecord
  readonly by?: PolicyRecord
  readonly rule?: RuleRecord
  readonly invalid?: InvalidRecord
  readonly nearest?: NearestRecord
  readonly audited?: AuditedRecord
  readonly examined?: ExaminedRecord
  readonly gateway: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
  /** For an AI backend. */
  readonly provider?: string
  /** It was denied for this provider, and another provider was tried. */
  readonly skipped?: true
  readonly method?: string
  readonly host?: string
  readonly path?: string
  /** For a call of a protocol on top of HTTP. */
  readonly call?: CallRecord
  readonly status?: number
  /** The port of the listener. */
  readonly port?: number
  readonly source: string
  /** The connected peer, if a trusted proxy reports a different client address. */
  readonly peer?: string
  readonly sni?: string
  /** For a request: the authenticated identities, and the authentications that found them. */
  readonly identified?: readonly IdentifiedRecord[]
  readonly attributes: readonly AttributeRecord[]
}

export type DecisionKind = 'authorization' | 'authentication' | 'csrf' | 'rejection'
export type DecisionStage = 'connection' | 'traffic' | 'backend' | 'mcp' | 'llm'

export type DecisionCause =
  | 'matched'
  | 'false'
  | 'error'
  | 'unset'
  | 'no-allow-match'
  | 'no-rules'
  | 'invalid-policy'
  | 'pin'
  | 'credentials'
  | 'cross-site'
  | Reason

export interface RuleRecord {
  readonly policy: string
  readonly section: string
  readonly level: string
  readonly kind: string
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly index: number
  readonly field: string
  readonly expression: string
  readonly mode: 'Enforce' | 'Audit'
  /** `gateway.yaml:12:9`, or the object and field. */
  readonly origin: string
  /** For a Require rule about MCP: the scopes that a token needs to satisfy it. */
  readonly scopes?: readonly string[]
}

/** The invalid policy, which denies everything it guards; the first one if there are several. */
export type InvalidRecord = PolicyRecord

/** A policy and where it is defined. */
export interface PolicyRecord {
  readonly policy: string
  readonly section: string
  readonly level: string
  readonly kind: string
  readonly origin: string
}

/** The authentication that rejected the credentials. */
export interface CredentialsRecord {
  readonly method: string
  readonly policy: string
  readonly section: string
  readonly level: string
  readonly kind: string
}

/** A variable that an authentication set; all others are unset for its request. */
export interface IdentifiedRecord {
  /** `jwt`, `apiKey`, `basicAuth` or `extauthz`. */
  readonly variable: string
  readonly policy: string
  readonly section: string
  readonly level: string
  readonly kind: string
}

/** What the client called, by the client's own name for it. */
export interface CallRecord {
  readonly protocol: 'grpc' | 'llm' | 'mcp' | 'a2a'
  readonly method?: string
  readonly name?: string
}

/** The Allow rule that was closest to matching, and what would have had to differ. */
export interface NearestRecord extends RuleRecord {
  readonly misses: readonly MissRecord[]
}

export interface MissRecord {
  /** The text of the condition. */
  readonly condition: string
  readonly wanted: boolean
  readonly cause: 'false' | 'true' | 'error' | 'unset'
  readonly reason?: string
  readonly variable?: string
  readonly present?: readonly string[]
}

/** The verdict of all rules including those in audit mode, if there are any. */
export interface AuditedRecord {
  readonly verdict: 'allowed' | 'denied'
  readonly cause: DecisionCause
  readonly rule?: RuleRecord
}

/** The extent of the search for the nearest miss. */
export interface ExaminedRecord {
  readonly rules: number
  readonly of: number
  /** `all`; `bounded`: others may be nearer; `skipped`: too many denials at once. */
  readonly search: 'all' | 'bounded' | 'skipped'
}

export interface AttributeRecord {
  readonly name: string
  /** `cut`: shown, but truncated. */
  readonly state: 'shown' | 'cut' | 'redacted' | 'unset'
  readonly value?: AttributeValue
  /** JSON lacks the type of the value, such as a timestamp, or 1.0 as distinct from 1. */
  readonly inexact?: true
  /** For `unset`: the missing parent, if even that is missing: `jwt` of `jwt.sub`. */
  readonly missing?: string
  /** For `unset`: the type of the parent, if that type has no members. */
  readonly within?: string
}

export type AttributeValue =
  | string
  | number
  | boolean
  | null
  | readonly AttributeValue[]
  | { readonly [name: string]: AttributeValue }

interface DecisionField {
  readonly name: string
  readonly meaning: string
}

/** For the reference documentation, in the order in which the fields are written. */
export const DECISION_FIELDS = [
  {
    name: 'id',
    meaning: 'the ID that the client received as `x-request-id`; connections have their own ID',
  },
  { name: 'time', meaning: 'time of the decision, RFC 3339 in UTC' },
  {
    name: 'kind',
    meaning:
      '`authorization`: rules decided, or an invalid policy; `authentication`: no rule was ' +
      'evaluated because the credentials were missing or rejected, or a service denied the ' +
      'request; `csrf`: a cross-site request was rejected before both; `rejection`: the gateway ' +
      'itself rejected the request or could not serve it, for another reason than these',
  },
  { name: 'stage', meaning: '`connection`, `traffic`, `backend`, `mcp` or `llm`' },
  {
    name: 'verdict',
    meaning:
      '`denied` or `allowed`; `rejected` for a `rejection` that does not depend on who sent the ' +
      'request, such as an exhausted rate limit',
  },
  {
    name: 'enforced',
    meaning: '`false`: only blocks with `mode: Audit` deny it, so it was allowed',
  },
  {
    name: 'cause',
    meaning:
      '`matched`: a Deny rule is true (or, of a sampled request, an Allow rule); `false`, `error`, ' +
      '`unset`: the result of a Require rule; `no-allow-match`: no Allow rule ' +
      'matched; `no-rules`: no rule denied it; `invalid-policy`: a policy is invalid and ' +
      'denies what it guards; `pin`: tools of an MCP server differ from their pins, see ' +
      '`reason`; `credentials`: see `reason`; `cross-site`: `csrf` rejected it; for a `rejection`, the ' +
      '`reason` of the access log, such as `rate-limit`',
  },
  {
    name: 'reason',
    meaning:
      'for an error, its description; for an invalid policy, the code and message that it was ' +
      'loaded with; for credentials, the problem in one word, such as `expired`; for a service that `extAuthz` calls, `denied`, or `unavailable` if it could not be reached',
  },
  {
    name: 'detail',
    meaning:
      'details about the credentials, the response of the service, or the rejection: the `detail` ' +
      'of the access log',
  },
  {
    name: 'credentials',
    meaning:
      'for credentials and `csrf`: the `method` (`jwt`, `api-key`, `basic`, `oidc`, `external`, ' +
      '`csrf`), and `policy`, `section`, `level` and `kind` of the policy',
  },
  {
    name: 'by',
    meaning:
      'for a `rejection`: `policy`, `section`, `level`, `kind` and `origin` of the policy that it ' +
      'enforces, if it enforces one',
  },
  { name: 'variable', meaning: 'the attribute that was not set, such as `jwt.group`' },
  { name: 'present', meaning: 'names of its siblings that were set, never their values' },
  {
    name: 'rule',
    meaning:
      'the rule that decided: `policy`, `section`, `level` and `kind` of its block, `action`, ' +
      '`index` in the block (from 0), `field`, `expression`, `mode`, `origin`, the location where it ' +
      'is defined, and `scopes`, if a token with these scopes would satisfy it',
  },
  {
    name: 'invalid',
    meaning:
      'for `invalid-policy`: `policy`, `section`, `level`, `kind` and `origin` of the policy; if ' +
      'several are invalid, of the first',
  },
  {
    name: 'nearest',
    meaning:
      'if no Allow rule matched: the rule that came closest. A rule about another tool, path, method, ' +
      'host or model is further away than others; then the number of `misses` decides, then the ' +
      'number of conditions that are met. A miss is a `condition`, its `wanted` value, and the ' +
      '`cause` why it differs',
  },
  {
    name: 'audited',
    meaning:
      'if blocks with `mode: Audit` apply to the request: `verdict`, `cause` and `rule` of all ' +
      'rules together, including theirs',
  },
  {
    name: 'examined',
    meaning:
      'the number of Allow `rules` that were searched for `nearest`, `of` how many; `search` is `all`, ' +
      '`bounded` (others may be nearer) or `skipped` (too many denials at once)',
  },
  { name: 'gateway', meaning: 'the gateway' },
  { name: 'listener', meaning: 'the listener' },
  { name: 'route', meaning: 'the route, if one matched' },
  { name: 'backend', meaning: 'the backend, if one was selected' },
  { name: 'provider', meaning: 'for an AI backend: the provider that the decision is about' },
  {
    name: 'skipped',
    meaning:
      '`true`: it was denied only for this provider, and the next one was tried; for `pin` and for a ' +
      '`rejection`: items were omitted from a list, and the rest was sent',
  },
  { name: 'method', meaning: 'the method' },
  { name: 'host', meaning: 'the host' },
  { name: 'path', meaning: 'the path, without the query' },
  {
    name: 'call',
    meaning:
      'for a call of a protocol on top of HTTP, once the gateway has read it: `protocol` (`grpc`, ' +
      '`llm`, `mcp`, `a2a`), `method`, such as `tools/call`, and `name`, the tool, prompt, resource or ' +
      'model that the client named',
  },
  { name: 'status', meaning: 'the status of the response' },
  { name: 'port', meaning: 'the port of the listener' },
  { name: 'source', meaning: 'address and port of the client' },
  {
    name: 'peer',
    meaning:
      'address and port of the peer of the connection, if a trusted proxy reports a different client address',
  },
  { name: 'sni', meaning: 'the server name that the client sent' },
  {
    name: 'identified',
    meaning:
      'for a request, the variables that authentication set: `variable` (`jwt`, `apiKey`, ' +
      '`basicAuth`, `extauthz`), and `policy`, `section`, `level` and `kind` of the ' +
      'authentication. A variable that is not listed was unset: empty means that no client was identified',
  },
  {
    name: 'attributes',
    meaning:
      'the attributes that the rules read: `name`, `state` (`shown`, `cut`, `redacted`, `unset`), and the `value` ' +
      'if it is shown; `inexact` if JSON cannot represent its type. For `unset`, `missing` is the part that ' +
      'was missing if it is not the last one (`jwt` of `jwt.sub`: no token was verified), and ' +
      '`within` is the type of its parent if that type has no members',
  },
] as const satisfies readonly DecisionField[]
