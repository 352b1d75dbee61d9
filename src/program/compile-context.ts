import { type Compiled, compile, type Expression, STAGES, type Stage } from '../cel/index.ts'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { originIn } from '../diagnostics/places.ts'
import { type DecisionSampler, NO_SAMPLER } from '../exchange/decision.ts'
import type { Scope } from '../exchange/identity.ts'
import { canonicalJson } from '../model/json.ts'
import { isPlace } from '../model/places.ts'
import type { Attached, Section, ValidPolicy } from '../model/policy.ts'
import type {
  CompileContext,
  ExpressionPlace,
  PolicyDeps,
  PolicyExpression,
} from '../policies/define.ts'
import {
  expectation,
  forgetChecked,
  STAGE_OF_SECTION,
  takeChecked,
} from '../policies/expressions.ts'
import type { Layer } from '../reach/layers.ts'
import { RULE_KINDS } from '../reach/points.ts'
import type { Cluster } from '../upstream/cluster.ts'
import { HeaderReads } from './headers-read.ts'
import type { Fault } from './invalid.ts'
import type { Program } from './program.ts'
import { NO_SCOPES, type Scopes, scoped, scopesOf } from './scopes.ts'
import { allUses, type Recorded, Uses } from './uses.ts'

/** What policies report about themselves while they are compiled. */
export interface Findings {
  /** The first policy with an expression that has an error: it denies everything it guards. */
  failed: Fault | undefined
  readsBody: boolean
  /** `response.body`, at the response stage. */
  readsResponseBody: boolean
  readsHostname: boolean
  readsCertificate: boolean
  /** A rule reads more of `llm` than the provider. */
  readsModel: boolean
}

export interface CompileContextsOptions {
  readonly now: () => number
  readonly previous: Program | undefined
  readonly placeOf: (policy: Attached) => string
  readonly policyDeps?: PolicyDeps | undefined
  readonly sampler?: DecisionSampler | undefined
  readonly connect?: CompileContext['connect']
}

/** Every user of a shared value also gets the findings made while it was compiled. */
interface Shared {
  readonly value: unknown
  readonly findings: Findings
}

/** Contexts of one compilation: they share what is compiled once and collect diagnostics. */
export class CompileContexts {
  readonly now: () => number
  readonly sampler: DecisionSampler
  readonly policyDeps: PolicyDeps
  connect: CompileContext['connect']
  /** Keyed by the policy if there is only one, otherwise by the identity of all. */
  readonly shared = new Map<object | string, Recorded<Shared>>()
  readonly #state = new Map<string, unknown>()
  #previous: Program | undefined
  /** Uses of the part that is being compiled. */
  #uses = new Uses()
  #placeOf: (policy: Attached) => string
  readonly #ids = new Map<object, number>()
  readonly #scopes = new Map<string, Scope>()
  readonly #alike = new Map<string, Uses>()
  readonly #expressions = new Map<string, Recorded<Expression>>()
  readonly #reads = new Map<string, Uses>()

  constructor(options: CompileContextsOptions) {
    const { now, previous, placeOf, policyDeps = {}, sampler = NO_SAMPLER } = options
    this.now = now
    this.sampler = sampler
    this.policyDeps = policyDeps
    this.connect = options.connect ?? nowhere
    this.#previous = previous
    this.#placeOf = placeOf
  }

  get diagnostics(): readonly Diagnostic[] {
    return allUses([[this]]).diagnostics
  }

  report(diagnostic: Diagnostic): void {
    this.#uses.add('diagnostics', diagnostic)
  }

  /** Uses of the part that is being compiled; outside a part, they belong to no part. */
  get uses(): Uses {
    return this.#uses
  }

  use(key: string, cluster: Cluster): void {
    this.#uses.add('clusters', [key, cluster])
  }

  /** Compiles a part and records what it uses, without the uses of other parts. */
  record<T>(make: () => T): Recorded<T> {
    const around = this.#uses
    const uses = new Uses()
    this.#uses = uses
    try {
      return { value: make(), uses }
    } finally {
      this.#uses = around
    }
  }

  /** Makes a value once for the key; every caller gets its uses too. */
  once<K, V>(known: Map<K, Recorded<V>>, key: K, make: () => V): V {
    let found = known.get(key)
    if (found === undefined) {
      found = this.record(make)
      known.set(key, found)
    }
    this.#uses.link(found.uses)
    return found.value
  }

  /**
   * Called when everything is compiled; drops what was cached for later parts. Parts outlive the
   * compilation and may reference their context, which must not keep earlier Programs alive.
   */
  close(): void {
    forgetChecked()
    for (const { value } of this.#expressions.values()) value.releaseShared()
    this.#expressions.clear()
    this.shared.clear()
    this.#state.clear()
    this.#ids.clear()
    this.#scopes.clear()
    this.#alike.clear()
    this.#reads.clear()
    this.#previous = undefined
    this.#uses = new Uses()
    this.#placeOf = () => ''
    this.connect = nowhere
  }

  /** The same string for the same objects in the same order. */
  identity(things: readonly object[]): string {
    let text = ''
    for (const thing of things) {
      let id = this.#ids.get(thing)
      if (id === undefined) this.#ids.set(thing, (id = this.#ids.size))
      text += `${id} `
    }
    return text
  }

  /** The identities that policies of the section see. */
  scopesAt(layers: readonly Layer[], section: Section): Scopes {
    return scopesOf(layers, section, this)
  }

  placeOf(policy: Attached): string {
    return this.#placeOf(policy)
  }

  /** Most routes use the same few things, so equal uses share one object. */
  shareUses(uses: Uses): Uses {
    const plain = uses.plain() ?? uses
    if (!plain.isOfParts) return plain
    const key = this.identity(plain.parts)
    const known = this.#alike.get(key) ?? plain
    this.#alike.set(key, known)
    return known
  }

  /** Makes equal scopes one object. */
  intern(scope: Scope): Scope {
    const key = Object.values(scope)
      .map((sources) => this.identity(sources))
      .join('| ')
    const known = this.#scopes.get(key) ?? scope
    this.#scopes.set(key, known)
    return known
  }

  /** Without scopes, expressions see the most specific identity of the client. */
  open(scopes: Scopes = NO_SCOPES): OpenCompileContext {
    return new OpenCompileContext(this, scopes)
  }

  /** A repeated expression is compiled once, unless it has diagnostics, which differ by place. */
  expression(text: string, place: ExpressionPlace): Compiled {
    const { policy, result, stage = STAGE_OF_SECTION[policy.section] } = place
    const key = `${stage} ${result} ${text}`
    const known = this.#expressions.get(key)
    if (known !== undefined) {
      known.value.retainShared()
      this.#uses.link(known.uses)
      return { expression: known.value, diagnostics: [] }
    }
    const compiled = compileAt(text, place, stage)
    const { expression, diagnostics } = compiled
    for (const diagnostic of diagnostics) this.report(diagnostic)
    if (expression === undefined) return compiled
    // Expressions that only logs and metrics read decide nothing.
    const isDeciding = stage !== 'log' && text.includes('request')
    const uses = isDeciding ? this.#headersRead(text, expression) : NO_USES
    this.#uses.link(uses)
    if (diagnostics.length === 0) this.#expressions.set(key, { value: expression, uses })
    return compiled
  }

  /** Thousands of rules read the same few headers and share one object that records this. */
  #headersRead(text: string, expression: Expression): Uses {
    const reads = new HeaderReads()
    reads.note(text, expression)
    if (!reads.all && reads.names.size === 0) return NO_USES
    const key = JSON.stringify([reads.all, ...reads.names])
    const known = this.#reads.get(key) ?? new Uses()
    if (known.headers.length === 0) known.add('headers', reads)
    this.#reads.set(key, known)
    return known
  }

  keep<T>(policy: ValidPolicy, part: string, make: (key: string) => T): T {
    return this.keepAs(`${this.#placeOf(policy)} ${part} ${canonicalJson(policy, isPlace)}`, make)
  }

  /** The same for state that belongs to no policy. */
  keepAs<T>(key: string, make: (key: string) => T): T {
    const kept = (this.#state.get(key) ?? this.#previous?.state.get(key) ?? make(key)) as T
    this.#state.set(key, kept)
    this.#uses.add('state', [key, kept])
    return kept
  }
}

/** The context of one point where policies are compiled; thousands of routes open one each. */
class OpenCompileContext implements CompileContext {
  readonly now: CompileContext['now']
  readonly sampler: DecisionSampler
  readonly policyDeps: PolicyDeps
  readonly #contexts: CompileContexts
  readonly #scopes: Scopes
  #findings = nothingFound()

  constructor(contexts: CompileContexts, scopes: Scopes) {
    this.now = contexts.now
    this.sampler = contexts.sampler
    this.policyDeps = contexts.policyDeps
    this.#contexts = contexts
    this.#scopes = scopes
  }

  get findings(): Readonly<Findings> {
    return this.#findings
  }

  compile(text: string, place: ExpressionPlace): PolicyExpression | undefined {
    const expression = this.compileRule(text, place)
    return expression && scoped(expression, this.#scopes.of(place.policy))
  }

  compileRule(text: string, place: ExpressionPlace): Expression | undefined {
    const { expression, diagnostics } = this.#contexts.expression(text, place)
    if (expression === undefined) {
      const diagnostic = diagnostics.find(({ severity }) => severity === 'error')
      this.#findings.failed ??= { policy: place.policy, diagnostic }
    } else if (mayRead(text)) {
      note(expression, this.#findings, place)
      if (RULE_KINDS.has(place.policy.kind) && readsModel(expression)) {
        this.#findings.readsModel = true
      }
    }
    return expression
  }

  scopeOf(policy: ValidPolicy): Scope | undefined {
    return this.#scopes.of(policy)
  }

  shared<T>(policies: readonly ValidPolicy[], make: () => T): T {
    const key = this.#sharingKey(policies)
    const own = this.#findings
    const known = this.#contexts.once(this.#contexts.shared, key, (): Shared => {
      this.#findings = nothingFound()
      const made = { value: make(), findings: this.#findings }
      this.#findings = own
      return made
    })
    merge(own, known.findings)
    return known.value as T
  }

  /** The same policies of a route see different policies around them on each gateway. */
  #sharingKey(policies: readonly ValidPolicy[]): object | string {
    const [first] = policies
    const seen = policies.map((policy) => this.#scopes.of(policy))
    const isAlone = policies.length === 1 && seen[0] === undefined
    if (first !== undefined && isAlone) return first
    return this.#contexts.identity([...policies, ...seen.map((scope) => scope ?? NO_SCOPES)])
  }

  kept<T>(policy: ValidPolicy, make: (key: string) => T, part = ''): T {
    return this.#contexts.keep(policy, part, make)
  }

  report(diagnostic: Diagnostic): void {
    this.#contexts.report(diagnostic)
  }

  connect(...asked: Parameters<CompileContext['connect']>): ReturnType<CompileContext['connect']> {
    return this.#contexts.connect(...asked)
  }
}

function compileAt(text: string, place: ExpressionPlace, stage: Stage): Compiled {
  const { policy, result } = place
  const expression = takeChecked(text, stage, result)
  if (expression !== undefined) {
    // Its tree is read more than once.
    if (mayRead(text)) expression.retain()
    return { expression, diagnostics: [] }
  }
  const origin = originIn(policy.origin, place.field)
  return compile(text, STAGES[stage], { ...expectation(result), origin })
}

/** Shared by everything that uses nothing. */
const NO_USES = new Uses()

function nothingFound(): Findings {
  return {
    failed: undefined,
    readsBody: false,
    readsResponseBody: false,
    readsHostname: false,
    readsCertificate: false,
    readsModel: false,
  }
}

const nowhere: CompileContext['connect'] = () => () => Promise.resolve({ failure: 'no-backend' })

/** A fast check before the slow one; escapes can hide a name. */
function mayRead(text: string): boolean {
  return /body|hostname|identity|subject|issuer|fingerprint|llm|\\|\b(request|response|destination|source)\b(?!\s*\.)/.test(
    text,
  )
}

function readsModel(expression: Expression): boolean {
  return expression.reads.some(
    ({ variable, fields }) => variable === 'llm' && fields[0] !== 'provider',
  )
}

function note(
  expression: Expression,
  findings: Findings,
  { hasOwnResponse = false }: ExpressionPlace,
): void {
  for (const { variable, fields } of expression.reads) {
    const [field] = fields
    if (variable === 'request' && (field === undefined || field === 'body')) {
      findings.readsBody = true
    }
    if (variable === 'response' && !hasOwnResponse && (field === undefined || field === 'body')) {
      findings.readsResponseBody = true
    }
    if (variable === 'destination' && (field === undefined || field === 'hostname')) {
      findings.readsHostname = true
    }
    if (variable === 'source' && (field === undefined || !ADDRESSES.has(field))) {
      findings.readsCertificate = true
    }
  }
}

/** Known about a client as soon as it is connected; the rest is in its certificate. */
const ADDRESSES: ReadonlySet<string> = new Set(['address', 'port', 'rawAddress', 'rawPort'])

function merge(into: Findings, from: Findings): void {
  into.failed ??= from.failed
  into.readsBody ||= from.readsBody
  into.readsResponseBody ||= from.readsResponseBody
  into.readsHostname ||= from.readsHostname
  into.readsCertificate ||= from.readsCertificate
  into.readsModel ||= from.readsModel
}
