import type { JsonObject } from '../cel/values/value.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Connection } from '../exchange/connection.ts'
import type {
  Decider,
  Decision,
  ExplainedRule,
  ExplainSteps,
  RulePlace,
} from '../exchange/decision.ts'
import type { ErrorFormat } from '../exchange/error-format.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Outcome, Step } from '../exchange/step.ts'
import type { Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import type { AccessLogPolicy, LogExportPolicy } from '../policies/access-log/compile.ts'
import type { Meter } from '../policies/define.ts'
import type { Retry, Timeouts } from '../policies/delivery.ts'
import type { MetricLabels } from '../policies/metric-labels.ts'
import type { TracingPolicy } from '../policies/tracing/compile.ts'
import type { CredentialHeader } from '../protocols/llm/provider.ts'
import type { McpMessage } from '../protocols/mcp/attributes.ts'
import type { AcceptedHosts } from '../protocols/mcp/foreign-pages.ts'
import type { PinOptions } from '../protocols/mcp/pins.ts'
import type { Sending } from '../protocols/mcp/server.ts'
import type { McpResponder } from '../protocols/mcp/serving.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { HeadersRead } from './headers-read.ts'
import type { CallTarget, ModelAttempt, ModelCall } from './model-call.ts'
import type { Parts } from './parts.ts'
import type { MessageVerdict, Permit } from './permit.ts'
import type { RequestSigner } from './request-signer.ts'
import type { WayBack } from './way-back.ts'

export type { Retry, Timeouts } from '../policies/delivery.ts'

/** The compiled Model. Immutable; swapped as a whole. */
export interface Program {
  readonly model: Model
  readonly listeners: readonly ListenerProgram[]
  /** All diagnostics of the Model and of its expressions. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Clusters keyed by content: a backend with the policies that reach it. A cluster that is the
   * same in the next Program is reused there.
   */
  readonly clusters: ReadonlyMap<string, Cluster>
  /** The request headers that rules and routes read. */
  readonly headersRead?: HeadersRead
  /** Counters and caches of policies, keyed by content and place; reused in the same way. */
  readonly state: ReadonlyMap<string, unknown>
  /** The parts that the next Program reuses if the Model has the same parts. */
  readonly parts?: Parts
}

export interface ListenerProgram {
  readonly gateway: string
  readonly listener: Listener
  /**
   * Settings for connections: the effective value of each kind, or all values of kinds that
   * compose.
   */
  readonly frontend: readonly ValidPolicy[]
  /** The settings for connections are invalid, so no connection can be accepted as they require. */
  readonly isClosed?: boolean
  /** Evaluated for every connection; if undefined, all are accepted. */
  readonly network: NetworkDecision | undefined
  /** If undefined, every request is logged as it is. */
  readonly accessLog?: AccessLogProgram | undefined
  /** If undefined, nothing is traced, and clients' trace headers pass unchanged. */
  readonly tracing?: TracingProgram | undefined
  /** If undefined, request metrics have only their own labels. */
  readonly metricLabels?: MetricLabels | undefined
  /** What its expressions need of a request in addition to the route's rules. */
  readonly needs?: Needs
  /**
   * The best route for this request, by the rules of the Gateway API. If none matches, the result
   * is a route that runs the policies of the gateway and the listener and then responds with 404,
   * so that unauthorized clients do not learn which routes exist.
   */
  match(exchange: Exchange): RouteProgram
}

export interface AccessLogProgram extends Omit<AccessLogPolicy, 'otlp'> {
  readonly otlp: LogExport | undefined
}

export interface LogExport extends LogExportPolicy, Collector {}

export interface TracingProgram extends TracingPolicy, Collector {}

export interface Collector {
  /** Destination for OTLP: scheme, host and port. */
  readonly address: string
  /** Programs with equal values send to the same collector with the same settings. */
  readonly collector: string
}

export interface Needs {
  readonly requestBody: boolean
  readonly responseHeaders: boolean
  /** The output of models. */
  readonly completion: boolean
}

export interface NetworkDecision {
  /** Rules that read the server name can decide only after the ClientHello. */
  readonly readsHostname: boolean
  /** Rules that read the client certificate, if requested, can decide only after the handshake. */
  readonly readsCertificate: boolean
  /** Undefined if it is accepted and there is nothing to report. */
  decide(connection: Connection): Decision | undefined
  admittedBy(connection: Connection): RulePlace | undefined
  explain(connection: Connection): ExplainSteps
}

export interface RouteProgram extends WayBack {
  readonly name: string
  readonly rule: string
  /** The policies of all levels that reach this route, in the order of execution. */
  readonly steps: readonly Step[]
  /** The same steps as one function. */
  readonly run: Step
  /** The policy kind of each step, for callers that run only some steps. */
  readonly kinds?: readonly string[]
  /** An expression of this route reads `request.body`, which must be complete before it runs. */
  readonly readsBody: boolean
  /** The beginning that is kept is enough. */
  readonly readsBeginning?: boolean
  /** Paths at which a policy reads the whole body, like `readsBody` for the whole route. */
  readonly bodyPaths?: ReadonlySet<string> | undefined
  /** Expressions read the body with its Content-Encoding decoded. */
  readonly decodesBody?: boolean
  /** Chooses a backend by weight; returns a Reply if there is none. */
  choose(exchange: Exchange): BackendProgram | Reply
  readonly timeouts: Timeouts
  readonly retry: Retry | undefined
  readonly mirrors: readonly Mirror[]
  /** The format of errors for clients, if the protocol of its backends defines one. */
  readonly errorFormat?: ErrorFormat | undefined
  /** All policies that authenticate the client before any rule runs, the gateway's first. */
  readonly authentications?: readonly Attached[]
  /** The authorization rules among the steps. */
  readonly decider?: Decider | undefined
  /** The limits that calls to models count toward, for callers that do not run the steps. */
  readonly meters?: readonly Meter[]
}

export interface BackendProgram extends WayBack {
  readonly name: string
  readonly upstream: Upstream
  readonly errorFormat?: ErrorFormat
  /** Reads the protocol message before `run` evaluates rules about it; `run` calls it. */
  readonly describe?: (exchange: Exchange) => Reply | undefined
  /** Policies of the backend stage, run after the backend was chosen. */
  readonly steps: readonly Step[]
  /** The same steps as one function. */
  readonly run: Step
  /** The policy kind of each step, if some of them run alone. */
  readonly kinds?: readonly string[]
  /** Like RouteProgram.readsBody, for the backend's own expressions. */
  readonly readsBody: boolean
  readonly readsBeginning?: boolean
  readonly decodesBody?: boolean
  /** Milliseconds for each attempt; 0 uses the route's timeout. */
  readonly requestTimeout: number
  /** Milliseconds for each pause of a response; 0 uses the route's timeout. */
  readonly responseIdle: number
  /** Whether one of its expressions reads completed responses. */
  readonly judgesResponses?: boolean
  /** Like RouteProgram.decider. */
  readonly decider?: Decider | undefined
}

/** Serves a backend's requests: endpoints, providers of models, or MCP servers. */
export type Upstream = ClusterUpstream | AiUpstream | McpUpstream

export interface ClusterUpstream {
  readonly kind: 'cluster'
  readonly cluster: Cluster
}

export interface AiUpstream {
  readonly kind: 'ai'
  /** In the order of their groups; each has its own rules and cluster. */
  readonly providers: readonly ProviderProgram[]
  /** Which of them are called depends on the model that is requested. */
  readonly choosesByModel: boolean
  /**
   * The call to a model that this request makes, in the dialect of its client; undefined if it
   * passes unchanged. A Reply if it is not allowed.
   */
  open(exchange: Exchange): ModelCall | Reply | undefined
  /** After `run` of the backend, a provider is chosen for each attempt. */
  select(exchange: Exchange, call?: ModelCall): Selection | Reply
  /** The providers that may serve the call, in the order of their groups, without choosing one. */
  candidates(exchange: Exchange, call: ModelCall): readonly Candidate[] | Reply
}

/** A provider that may serve a call, and how the call reaches it. */
export interface Candidate {
  readonly program: ProviderProgram
  readonly target: CallTarget
}

export interface McpUpstream {
  readonly kind: 'mcp'
  /** The decisions of rules about messages. */
  readonly mcp: McpProgram
  /** In the configured order. */
  readonly servers: readonly McpServerPlan[]
  /** Names are prefixed with their server's name. */
  readonly isPrefixed: boolean
  readonly hosts: AcceptedHosts
  /** Serves a request whose body was read. */
  serve(permit: Permit<'backend'>, exchange: Exchange, responder: McpResponder): Sending
}

/** One provider of an AI backend. Its steps are those of the backend and its own. */
export interface ProviderProgram extends BackendProgram {
  readonly provider: string
  readonly upstream: ClusterUpstream
  /** `backend` in expressions, once it is chosen. */
  readonly attributes: JsonObject
  /** The host of its address. */
  readonly host: string
  /** The host and port. */
  readonly address: string
  /** `llm` in expressions, as far as it is known for requests that are not parsed. */
  readonly llm: JsonObject
  /** How calls reach it. */
  readonly target: CallTarget
  /** Client credentials are forwarded to it. */
  readonly keepsCredentials: boolean
  /**
   * The header for a key without a configured location; undefined if the key is already in place.
   */
  readonly keyHeader: CredentialHeader | undefined
  /** Signs requests to it; undefined if no signature is required. */
  readonly signer: RequestSigner | undefined
  /** A rule reads more of a call than its provider. */
  readonly readsModel: boolean
  /** Whether its rules may allow a call of which only the model is known. */
  readonly mayAllow: (exchange: Exchange) => boolean
  /** Attaches only the guards of its calls, for explaining a call; undefined if there are none. */
  readonly attachGuards: Step | undefined
}

/** The choice of a provider for one request. */
export interface Selection {
  /** Undefined until one may be called. */
  readonly chosen: ProviderProgram | undefined
  /** The request to the chosen provider, if it is a call to a model. */
  readonly attempt: ModelAttempt | undefined
  /** All providers that may be called, denied or not. */
  readonly targets: readonly CallTarget[]
  /** Whether there is another provider that was neither called nor denied yet. */
  readonly hasOther: boolean
  /**
   * Runs the steps of the next provider, and of those after it if it is denied; returns a response
   * if none is left. The effects of the previous provider's steps are undone first.
   */
  next(): Outcome | Promise<Outcome>
  /** Avoids the chosen provider for this many milliseconds if others are available. */
  rest(milliseconds: number): void
  /** The chosen provider began to respond after this many milliseconds; -1 if it failed. */
  responded(milliseconds: number): void
}

export interface Mirror {
  readonly cluster: Cluster
  /** From 0 to 1. */
  readonly fraction: number
}

/** The endpoints of a request; undefined until a provider is chosen. */
export function clusterOf(backend: BackendProgram | undefined): Cluster | undefined {
  const upstream = backend?.upstream
  return upstream?.kind === 'cluster' ? upstream.cluster : undefined
}

export function isReply(chosen: BackendProgram | Reply): chosen is Reply {
  return 'status' in chosen
}

/** What is known about a server without calling it. */
export interface McpServerPlan {
  readonly name: string
  readonly pins: PinOptions | undefined
  /** Undefined if only the server knows its tools. */
  knownTools(): readonly string[] | undefined
}

/** What rules decide about an MCP message, and which of them. */
export interface MessageExplanation {
  readonly decision: Decision | undefined
  readonly admitting: RulePlace | undefined
  readonly rules: readonly ExplainedRule[]
  /** The status that a client gets if the message is denied. */
  readonly deniedStatus: number
}

/** The MCP rules of one backend: those attached around it, its own, and those of each server. */
export interface McpProgram {
  /** Whether there are any rules. */
  readonly isGuarded: boolean
  /** For each method, tool, prompt or resource, after the traffic and backend stages allow it. */
  decide(exchange: Exchange, message: McpMessage): MessageVerdict
  /** For messages about none of them: denied only if everything they could refer to is. */
  admit(exchange: Exchange, message: McpMessage): MessageVerdict
  /** Whether a list shows it: a call may still be denied because of its arguments. */
  shows(exchange: Exchange, message: McpMessage): boolean
  /** The same as `decide` and `admit`, rule by rule; nothing is counted. */
  explainMessage(exchange: Exchange, message: McpMessage): Generator<void, MessageExplanation>
  explainGeneral(exchange: Exchange, message: McpMessage): Generator<void, MessageExplanation>
  /** The challenge for what `decide` denied last, if a token with more scopes would be accepted. */
  stepUp(exchange: Exchange): string | undefined
}
