import type { Attribute, Decider } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { McpBackend, McpTarget } from '../model/backend.ts'
import { variablesOf } from '../policies/define.ts'
import { compileMcpAuthorization } from '../policies/mcp-authorization/compile.ts'
import { compileVisibility, type McpVisibility } from '../policies/mcp-authorization/visibility.ts'
import type { McpMessage, McpPart } from '../protocols/mcp/attributes.ts'
import { mcpErrorFormat } from '../protocols/mcp/errors.ts'
import { effectiveAt } from '../reach/effective.ts'
import type { Layer } from '../reach/layers.ts'
import { decidesAt, holdsForRequests, isForEachServer, rulesAt } from '../reach/points.ts'
import type { Compilation } from './compilation.ts'
import { faultOf, invalidDecider } from './invalid.ts'
import { openMcpUpstream } from './mcp-upstream.ts'
import { type MessageVerdict, Permit } from './permit.ts'
import type { BackendProgram, McpProgram, MessageExplanation } from './program.ts'

/** Undefined if one of its servers cannot be reached as configured. */
export function compileMcp(
  compilation: Compilation,
  backend: McpBackend,
  around: readonly Layer[],
): BackendProgram | undefined {
  const { reach, sections } = compilation
  const { name } = backend
  const section = sections.compile(
    around,
    'backend',
    (one) => holdsForRequests(one, backend) && !isForEachServer(one),
  )
  const layersOf = (server: McpTarget) => reach.within(around, { backend, server })
  const targets = new Map(
    backend.targets.map((server) => [server.name, rulesFor(compilation, layersOf(server))]),
  )
  const program = mcpProgram(rulesFor(compilation, around), targets)
  const upstream = openMcpUpstream(compilation, backend, around, program)
  if (upstream === undefined) return undefined
  return {
    name,
    errorFormat: mcpErrorFormat,
    steps: section.steps,
    run: section.run,
    kinds: section.kinds,
    readsBody: section.readsBody,
    readsBeginning: section.readsBeginning,
    decodesBody: section.decodesBody,
    requestTimeout: 0,
    responseIdle: 0,
    decider: section.decider,
    responseParts: section.responseParts,
    upstream,
  }
}

interface MessageRules {
  readonly decider: Decider
  /** Undefined if nothing is visible. */
  readonly visibility: McpVisibility | undefined
}

/** `targets`: rules of the servers by name; `general`: rules of all. */
function mcpProgram(
  general: MessageRules | undefined,
  targets: ReadonlyMap<string, MessageRules | undefined>,
): McpProgram {
  const rulesOf = ({ tool, prompt, resource }: McpMessage) => {
    const { target } = tool ?? prompt ?? resource ?? NO_PART
    return target === undefined || !targets.has(target) ? general : targets.get(target)
  }
  const all = [general, ...targets.values()]
  return {
    isGuarded: all.some((rules) => rules !== undefined),
    decide(exchange, message) {
      enter(exchange, message)
      return recorded(exchange, Permit.message(rulesOf(message)?.decider, exchange))
    },
    admit(exchange, message) {
      enter(exchange, message)
      // A message that the rules of one server certainly deny may still be allowed for another
      // server.
      const isPossible = general && (() => shows(exchange, 'part', general, ...targets.values()))
      return recorded(exchange, Permit.general(isPossible, general?.decider, exchange))
    },
    shows(exchange, message) {
      const before = exchange.mcp
      enter(exchange, message)
      const unknown = message.tool === undefined ? 'nothing' : 'arguments'
      const rules = rulesOf(message)
      const isShown = rules === undefined || shows(exchange, unknown, rules)
      exchange.mcp = before
      return isShown
    },
    *explainMessage(exchange, message) {
      enter(exchange, message)
      const rules = rulesOf(message)
      const { decision } = Permit.message(rules?.decider, exchange)
      return yield* explained(exchange, rules, decision)
    },
    *explainGeneral(exchange, message) {
      enter(exchange, message)
      const isPossible = general && (() => shows(exchange, 'part', general, ...targets.values()))
      const { permit, decision } = Permit.general(isPossible, general?.decider, exchange)
      const all = yield* explained(exchange, general, decision)
      // Rules about tools need not match a message that names none.
      const own = permit === undefined ? all : { ...all, admitting: undefined, rules: [] }
      return { ...own, deniedStatus: 403 }
    },
    stepUp(exchange) {
      const scopes = exchange.decisions.at(-1)?.rule?.scopes
      if (scopes === undefined) return undefined
      // A client that other rules deny must not learn that there are scopes to request.
      const rules = rulesOf(exchange.mcp as unknown as McpMessage)
      if (rules !== undefined && !shows(exchange, 'nothing', rules)) return undefined
      return challengeFor(exchange, scopes)
    },
  }
}

const NO_PART: Partial<McpPart> = {}

function* explained(
  exchange: Exchange,
  rules: MessageRules | undefined,
  decision: MessageVerdict['decision'],
): Generator<void, MessageExplanation> {
  const variables = variablesOf(exchange)
  return {
    decision,
    admitting: rules?.decider.admittedBy(variables),
    rules: rules === undefined ? [] : yield* rules.decider.explain(variables),
    // Clients that may not use an item must not learn that it exists.
    deniedStatus: 200,
  }
}

const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/

/** RFC 6750 §3, RFC 9728 §5.1: includes the scopes that the token has, so that none gets lost. */
function challengeFor(exchange: Exchange, scopes: readonly string[]): string {
  exchange.enter(undefined)
  const { jwt, resourceMetadata } = exchange
  const { scope, scp } = (jwt ?? {}) as { readonly scope?: unknown; readonly scp?: unknown }
  const granted = [scope, scp].flatMap((own) =>
    typeof own === 'string' ? own.split(' ') : Array.isArray(own) ? (own as unknown[]) : [],
  )
  const held = granted.filter((own) => typeof own === 'string' && SCOPE.test(own))
  const wanted = [...new Set([...held, ...scopes])].join(' ')
  const where = resourceMetadata === '' ? '' : `, resource_metadata="${resourceMetadata}"`
  return `Bearer realm="portcullis", error="insufficient_scope", scope="${wanted}"${where}`
}

function enter(exchange: Exchange, message: McpMessage): void {
  exchange.mcp = message as unknown as Exchange['mcp']
}

/** Also adds the decision, with a description of the message, to the exchange for its record. */
function recorded(exchange: Exchange, verdict: MessageVerdict): MessageVerdict {
  const { decision } = verdict
  if (decision !== undefined) {
    const named = messageAttributes(exchange.mcp as unknown as McpMessage)
    const read = decision.attributes
    const others = named.filter(({ name }) => !read.some((own) => own.name === name))
    const attributes = [...read, ...others]
    exchange.decisions = [...exchange.decisions, { ...decision, attributes }]
  }
  return verdict
}

function messageAttributes(message: McpMessage): readonly Attribute[] {
  const { methodName, tool, prompt, resource } = message
  const [part, named] =
    tool !== undefined
      ? ['tool', tool]
      : prompt !== undefined
        ? ['prompt', prompt]
        : ['resource', resource]
  const all = {
    'mcp.methodName': methodName,
    [`mcp.${part}.target`]: named?.target,
    [`mcp.${part}.name`]: named?.name,
  }
  return Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, value, missing: '', within: undefined }],
  )
}

function shows(
  exchange: Exchange,
  unknown: Parameters<McpVisibility>[1],
  ...any: readonly (MessageRules | undefined)[]
): boolean {
  return any.some((rules) => rules === undefined || rules.visibility?.(exchange, unknown) === true)
}

/** Undefined if no rule is about MCP. */
function rulesFor({ contexts }: Compilation, layers: readonly Layer[]): MessageRules | undefined {
  const { byKind, invalid } = effectiveAt(layers, 'backend')
  const broken = invalid.find((policy) => decidesAt(policy, 'mcp'))
  if (broken !== undefined)
    return { decider: invalidDecider(faultOf(broken)), visibility: undefined }
  const policies = rulesAt(byKind, 'mcp')
  if (policies === undefined) return undefined
  const context = contexts.open(contexts.scopesAt(layers, 'backend'))
  const decider = compileMcpAuthorization(policies, context)
  const visibility = compileVisibility(policies, context)
  const { failed } = context.findings
  return failed === undefined
    ? { decider, visibility }
    : { decider: invalidDecider(failed), visibility: undefined }
}
