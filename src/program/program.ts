import type { JsonObject } from '../cel/values/value.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Connection } from '../exchange/connection.ts'
import type { Decider, Decision, ExplainedRule, RulePlace } from '../exchange/decision.ts'
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

/** The Model compiled. Never changed; swapped whole. */
export interface Program {
  readonly model: Model
  readonly listeners: readonly ListenerProgram[]
  /** All that there is to say of the Model, of its expressions too. */
  readonly diagnostics: readonly Diagnostic[]
  /**
   * Clusters by their content: a backend with the policies that reach it. Whatever is the same in
   * the next Program is the same cluster there.
   */
  readonly clusters: ReadonlyMap<string, Cluster>
  /** The request headers that rules and routes read. */
  readonly headersRead?: HeadersRead
  /** What policies count or remember, by their content and place; lives on in the same way. */
  readonly state: ReadonlyMap<string, unknown>
  /** What the next Program takes over where the Model has the same parts. */
  readonly parts?: Parts
}

export interface ListenerProgram {
  readonly gateway: string
  readonly listener: Listener
  /** What was set for connections: of each kind the value that holds, of those that compose all. */
  readonly frontend: readonly ValidPolicy[]
  /** What was set for connections could not be read: none can be taken as it would have them. */
  readonly isClosed?: boolean
  /** Asked of every connection; undefined: all are accepted. */
  readonly network: NetworkDecision | undefined
  /** Undefined: every request is written as it is. */
  readonly accessLog?: AccessLogProgram | undefined
  /** Undefined: nothing is traced, and what clients say of traces passes as it is. */
  readonly tracing?: TracingProgram | undefined
  /** Undefined: metrics of requests have their own labels alone. */
  readonly metricLabels?: MetricLabels | undefined
  /** What its expressions need of a request, though no rule of the route does. */
  readonly needs?: Needs
  /**
   * The best route for this request, by the rules of the Gateway API. Where none matches, it is
   * one that runs the policies of the gateway and the listener and then responds with 404, so that
   * whoever may not ask does not learn which routes there are.
   */
  match(exchange: Exchange): RouteProgram
}

export interface AccessLogProgram extends Omit<AccessLogPolicy, 'otlp'> {
  readonly otlp: LogExport | undefined
}

export interface LogExport extends LogExportPolicy, Collector {}

export interface TracingProgram extends TracingPolicy, Collector {}

export interface Collector {
  /** Where OTLP goes: scheme, host and port. */
  readonly address: string
  /** Whoever has the same sends to the same collector in the same words. */
  readonly collector: string
}

export interface Needs {
  readonly requestBody: boolean
  readonly responseHeaders: boolean
  /** What models write. */
  readonly completion: boolean
}

export interface NetworkDecision {
  /** Rules that read the server name can decide only after the ClientHello. */
  readonly readsHostname: boolean
  /** Rules that read the client's certificate, where one is asked for, only after the handshake. */
  readonly readsCertificate: boolean
  /** Undefined: it is accepted, and there is nothing to tell. */
  decide(connection: Connection): Decision | undefined
  admittedBy(connection: Connection): RulePlace | undefined
  explain(connection: Connection): readonly ExplainedRule[]
}

export interface RouteProgram extends WayBack {
  readonly name: string
  readonly rule: string
  /** The policies of all levels that reach this route, in the order of execution. */
  readonly steps: readonly Step[]
  /** The same steps as one. */
  readonly run: Step
  /** The policy of each step, for those who run some of them alone. */
  readonly kinds?: readonly string[]
  /** An expression of this route reads `request.body`, which must be there before it runs. */
  readonly readsBody: boolean
  /** As much of it as is kept is enough. */
  readonly readsBeginning?: boolean
  /** Paths at which a policy reads all of it, as `readsBody` says of the whole route. */
  readonly bodyPaths?: ReadonlySet<string> | undefined
  /** Expressions read what stands behind its Content-Encoding. */
  readonly decodesBody?: boolean
  /** A backend by weight; a Reply where there is none to choose. */
  choose(exchange: Exchange): BackendProgram | Reply
  readonly timeouts: Timeouts
  readonly retry: Retry | undefined
  readonly mirrors: readonly Mirror[]
  /** How clients are told of errors, if its backends have a protocol with a form of its own. */
  readonly errorFormat?: ErrorFormat | undefined
  /** All that find out who asks before any rule does, the gateway's first. */
  readonly authentications?: readonly Attached[]
  /** The authorization rules among the steps. */
  readonly decider?: Decider | undefined
  /** For which limits calls to models count, for whoever does not run the steps. */
  readonly meters?: readonly Meter[]
}

export interface BackendProgram extends WayBack {
  readonly name: string
  readonly upstream: Upstream
  readonly errorFormat?: ErrorFormat
  /** Reads the message of its protocol, before `run` evaluates rules about it; `run` calls it. */
  readonly describe?: (exchange: Exchange) => Reply | undefined
  /** Policies of the backend stage, run after the backend was chosen. */
  readonly steps: readonly Step[]
  /** The same steps as one. */
  readonly run: Step
  /** The policy of each step, where some of them run alone. */
  readonly kinds?: readonly string[]
  /** As RouteProgram.readsBody, of the backend's own expressions. */
  readonly readsBody: boolean
  readonly readsBeginning?: boolean
  readonly decodesBody?: boolean
  /** Milliseconds for each attempt; 0: the route's. */
  readonly requestTimeout: number
  /** Whether an expression of it reads responses when they are over. */
  readonly judgesResponses?: boolean
  /** As RouteProgram.decider. */
  readonly decider?: Decider | undefined
}

/** Who serves a backend's requests: endpoints, providers of models, or MCP servers. */
export type Upstream = ClusterUpstream | AiUpstream | McpUpstream

export interface ClusterUpstream {
  readonly kind: 'cluster'
  readonly cluster: Cluster
}

export interface AiUpstream {
  readonly kind: 'ai'
  /** In the order of their groups; each has rules and a cluster of its own. */
  readonly providers: readonly ProviderProgram[]
  /** Which of them are asked depends on the model that a call is for. */
  readonly choosesByModel: boolean
  /**
   * The call to a model that this request is, in the language of its client; undefined: it passes as
   * it is. A Reply where it may not be made.
   */
  open(exchange: Exchange): ModelCall | Reply | undefined
  /** After `run` of the backend, a provider is chosen for each attempt. */
  select(exchange: Exchange, call?: ModelCall): Selection | Reply
  /** Who may serve the call, in the order of their groups; nobody is chosen. */
  candidates(exchange: Exchange, call: ModelCall): readonly Candidate[] | Reply
}

/** A provider that may serve a call, and how the call reaches it. */
export interface Candidate {
  readonly program: ProviderProgram
  readonly target: CallTarget
}

export interface McpUpstream {
  readonly kind: 'mcp'
  /** What the rules say of a message. */
  readonly mcp: McpProgram
  /** In the order in which they are configured. */
  readonly servers: readonly McpServerPlan[]
  /** Names have that of their server in front. */
  readonly isPrefixed: boolean
  /** Requests from elsewhere than this machine are rejected. */
  readonly onlyLocal: boolean
  /** Serves a request whose body was read. */
  serve(permit: Permit<'backend'>, exchange: Exchange, responder: McpResponder): Sending
}

/** One provider of an AI backend. Its steps are those of the backend, and its own. */
export interface ProviderProgram extends BackendProgram {
  readonly provider: string
  readonly upstream: ClusterUpstream
  /** `backend` in expressions, once it is chosen. */
  readonly attributes: JsonObject
  /** Of its address. */
  readonly host: string
  /** `llm` in expressions, as far as it is known of requests that nobody looks into. */
  readonly llm: JsonObject
  /** How calls reach it. */
  readonly target: CallTarget
  /** The credentials of clients go on to it. */
  readonly keepsCredentials: boolean
  /** Where a key goes that the configuration has no place for; undefined: it is there. */
  readonly keyHeader: CredentialHeader | undefined
  /** Signs what it is sent; undefined: nobody has to. */
  readonly signer: RequestSigner | undefined
  /** A rule reads more of a call than its provider. */
  readonly readsModel: boolean
  /** Whether its rules may allow a call of which only the model is known. */
  readonly mayAllow: (exchange: Exchange) => boolean
  /** The guards of its calls alone, for whoever explains them; undefined: there are none. */
  readonly attachGuards: Step | undefined
}

/** The choice of a provider for one request. */
export interface Selection {
  /** Undefined until one may be asked. */
  readonly chosen: ProviderProgram | undefined
  /** What it is sent, if the request is a call to a model. */
  readonly attempt: ModelAttempt | undefined
  /** All that may be asked, denied or not. */
  readonly targets: readonly CallTarget[]
  /** There is one that was neither asked nor denied yet. */
  readonly hasOther: boolean
  /**
   * Runs the steps of the next provider, and of those after it where it is denied; a response where
   * none is left. Before it, all is as it was before the steps of the one before ran.
   */
  next(): Outcome | Promise<Outcome>
  /** The one that was chosen is not to be asked for so many milliseconds, if others can be. */
  rest(milliseconds: number): void
  /** The one that was chosen began to respond after so many milliseconds; -1: it failed. */
  responded(milliseconds: number): void
}

export interface Mirror {
  readonly cluster: Cluster
  /** Of 1. */
  readonly fraction: number
}

/** The endpoints that a request goes to; undefined until a provider is chosen. */
export function clusterOf(backend: BackendProgram | undefined): Cluster | undefined {
  const upstream = backend?.upstream
  return upstream?.kind === 'cluster' ? upstream.cluster : undefined
}

export function isReply(chosen: BackendProgram | Reply): chosen is Reply {
  return 'status' in chosen
}

/** What is known of a server without asking it. */
export interface McpServerPlan {
  readonly name: string
  readonly pins: PinOptions | undefined
  /** Undefined: it alone knows its tools. */
  knownTools(): readonly string[] | undefined
}

/** What rules say of a message of MCP, and by which of them. */
export interface MessageExplanation {
  readonly decision: Decision | undefined
  readonly admitting: RulePlace | undefined
  readonly rules: readonly ExplainedRule[]
  /** What a client gets if it is denied. */
  readonly deniedStatus: number
}

/** The MCP rules of one backend: those attached around it, its own, and those of each server. */
export interface McpProgram {
  /** There are any. */
  readonly isGuarded: boolean
  /** For each method, tool, prompt or resource, after the traffic and backend stages let it pass. */
  decide(exchange: Exchange, message: McpMessage): MessageVerdict
  /** For messages about none of them: denied only if all that they could be about is. */
  admit(exchange: Exchange, message: McpMessage): MessageVerdict
  /** Whether a list shows it: the arguments of a call may still make it denied. */
  shows(exchange: Exchange, message: McpMessage): boolean
  /** The same as `decide` and `admit`, rule by rule; nothing is counted. */
  explainMessage(exchange: Exchange, message: McpMessage): MessageExplanation
  explainGeneral(exchange: Exchange, message: McpMessage): MessageExplanation
  /** The challenge of what `decide` denied last, if a token with more scopes would pass. */
  stepUp(exchange: Exchange): string | undefined
}
