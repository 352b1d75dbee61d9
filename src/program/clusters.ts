import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Exchange, ResponseAttributes } from '../exchange/exchange.ts'
import type { Backend, HostBackend, Target } from '../model/backend.ts'
import { hashOf } from '../model/hash.ts'
import { canonicalJson } from '../model/json.ts'
import { isPlace } from '../model/places.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { type ExpressionPlace, variablesOf } from '../policies/define.ts'
import type { LoadBalancer } from '../policies/load-balancer/schema.ts'
import type { OutlierDetection } from '../policies/outlier-detection/schema.ts'
import { backendMaterialFaults } from '../policies/tls-materials.ts'
import { textOf } from '../policies/value-text.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { CompileContexts } from './compile-context.ts'
import type { ClusterExpressions, CompileDeps } from './compile-deps.ts'
import type { Program } from './program.ts'

type TextOf = (exchange: Exchange) => string | undefined

/** Clusters of one Program; unchanged clusters of the previous Program are reused. */
export class Clusters {
  readonly #opened = new Map<string, Cluster>()
  /** Errors in the keys and certificates of a cluster, checked once. */
  readonly #faults = new Map<string, readonly Diagnostic[]>()
  readonly #services: CompileDeps
  #previous: Program | undefined
  readonly #contexts: CompileContexts

  constructor(services: CompileDeps, previous: Program | undefined, contexts: CompileContexts) {
    this.#services = services
    this.#previous = previous
    this.#contexts = contexts
  }

  /**
   * Called when everything is compiled: parts that reference it must not retain earlier Programs.
   */
  close(): void {
    this.#opened.clear()
    this.#faults.clear()
    this.#previous = undefined
  }

  /** The hash key of ConsistentHash for choosing among clusters. */
  hashKey(policies: readonly ValidPolicy[]): TextOf | undefined {
    return hashKeyOf(policies, this.#textFrom(this.#contexts.open()))
  }

  /** Undefined if one of its expressions has an error or its keys cannot be used. */
  open(backend: Backend, policies: readonly ValidPolicy[]): Cluster | undefined {
    if (policies.length === 0 && backend.kind === 'host') {
      return this.#opening(plainKey(backend), backend, policies, NO_EXPRESSIONS)
    }
    const context = this.#contexts.open()
    const textFrom = this.#textFrom(context)
    const key = keyOf(backend, policies)
    const expressions: ClusterExpressions = {
      target: targetOf(backend, textFrom),
      hashKey: hashKeyOf(policies, textFrom),
      isFailure: isFailureOf(policies, context),
    }
    if (context.findings.failed !== undefined) return undefined
    if (this.#reportFaults(key, policies)) return undefined
    return this.#opening(key, backend, policies, expressions)
  }

  #opening(
    key: string,
    backend: Backend,
    policies: readonly ValidPolicy[],
    expressions: ClusterExpressions,
  ): Cluster {
    const known = this.#opened.get(key) ?? this.#previous?.clusters.get(key)
    // Its own policies are among the effective ones unless a more specific policy replaced them.
    const bare = backend.policies.length === 0 ? backend : { ...backend, policies: [] }
    const cluster = known ?? this.#services.openCluster(bare, policies, expressions)
    this.#opened.set(key, cluster)
    this.#contexts.use(key, cluster)
    return cluster
  }

  /**
   * Reports the errors for every part that uses the cluster, so that they remain if other parts go.
   */
  #reportFaults(key: string, policies: readonly ValidPolicy[]): boolean {
    const tls = policies.find(({ kind }) => kind === 'backendTLS')
    if (tls === undefined) return false
    const faults = this.#faults.get(key) ?? backendMaterialFaults(tls)
    this.#faults.set(key, faults)
    for (const fault of faults) this.#contexts.report(fault)
    return faults.length > 0
  }

  #textFrom(context: ReturnType<CompileContexts['open']>): TextFrom {
    return (text, place) => {
      const evaluate = context.compile(text, place)?.evaluate()
      if (evaluate === undefined) return undefined
      return (exchange) => {
        // A cluster outlives the policies around it, so it sees the most specific identity.
        exchange.enter(undefined)
        return textOf(evaluate(variablesOf(exchange)))
      }
    }
  }
}

/** Identifies a cluster by its content, independent of where it was written. */
function keyOf(backend: Backend, policies: readonly ValidPolicy[]): string {
  const content = policies.map(({ kind, value }) => ({ kind, value }))
  return `${backend.name} ${hashOf([{ ...backend, policies: content }], isPlace)}`
}

/** The same for addresses without any configuration: thousands of routes have an inline one. */
function plainKey({ name, endpoints }: HostBackend): string {
  return `${name} ${canonicalJson(endpoints)}`
}

const NO_EXPRESSIONS: ClusterExpressions = {
  target: undefined,
  hashKey: undefined,
  isFailure: undefined,
}

type TextFrom = (text: string, place: ExpressionPlace) => TextOf | undefined

function targetOf(backend: Backend, textFrom: TextFrom): TextOf | undefined {
  if (backend.kind !== 'dynamic' || backend.target === undefined) return undefined
  const { name, origin, target } = backend
  const policy: ValidPolicy = {
    state: 'valid',
    kind: 'dynamic',
    section: 'traffic',
    level: 'backend',
    policy: `backend/${name}`,
    origin,
    value: target,
  }
  return textFrom(target, { policy, field: 'target', result: 'string' })
}

function hashKeyOf(policies: readonly ValidPolicy[], textFrom: TextFrom): TextOf | undefined {
  const policy = policies.find(({ kind }) => kind === 'loadBalancer')
  const { hashKey } = (policy?.value ?? {}) as Partial<LoadBalancer>
  if (policy === undefined || hashKey === undefined) return undefined
  return textFrom(hashKey, { policy, field: 'hashKey', result: 'any' })
}

function isFailureOf(
  policies: readonly ValidPolicy[],
  context: ReturnType<CompileContexts['open']>,
): ClusterExpressions['isFailure'] {
  const policy = policies.find(({ kind }) => kind === 'outlierDetection')
  const text = unhealthyExpressionOf(policies)
  if (policy === undefined || text === undefined) return undefined
  const place = { policy, field: 'unhealthyExpression', stage: 'log', result: 'bool' } as const
  const predicate = context.compile(text, place)?.predicate()
  return (exchange) => {
    exchange.enter(undefined)
    const before = exchange.response
    const age = Date.now() - exchange.request.startedAt
    exchange.response = new ResponseAttributes(exchange, age)
    const isTrue = predicate?.(variablesOf(exchange)) === true
    exchange.response = before
    return isTrue
  }
}

export function unhealthyExpressionOf(policies: readonly ValidPolicy[]): string | undefined {
  const policy = policies.find(({ kind }) => kind === 'outlierDetection')
  return (policy?.value as Partial<OutlierDetection> | undefined)?.unhealthyExpression
}

/** Makes a backend of an address in a policy; no other part of the configuration refers to it. */
export function backendOf(target: Exclude<Target, { kind: 'backend' }>, origin: Backend['origin']) {
  const identity = { origin, policies: [] }
  switch (target.kind) {
    case 'host': {
      const { kind, ...endpoint } = target
      const name = `${endpoint.host}:${endpoint.port}`
      return { ...identity, kind, name, endpoints: [endpoint] } satisfies Backend
    }
    case 'unix':
      return { ...identity, ...target, name: target.path } satisfies Backend
    case 'service': {
      const name = `${target.namespace}/${target.service}:${target.port}`
      return { ...identity, ...target, name } satisfies Backend
    }
  }
}

/**
 * Whether the gateway itself can call it: it has addresses and no rules that choose between them.
 */
export function isCallable(backend: Backend | undefined): backend is Backend {
  return backend !== undefined && !['invalid', 'ai', 'mcp', 'admin'].includes(backend.kind)
}
