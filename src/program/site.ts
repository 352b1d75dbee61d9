import { BOOL, STRING, type Type } from '../cel/check/types.ts'
import { type Compiled, compile, type Expression, STAGES, type Stage } from '../cel/index.ts'
import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import { collector } from '../diagnostics/report.ts'
import { NO_SCRUTINY, type Scrutiny } from '../exchange/decision.ts'
import type { Scope } from '../exchange/identity.ts'
import { canonicalJson } from '../model/json.ts'
import type { Attached, Section, ValidPolicy } from '../model/policy.ts'
import type { ResultType } from '../policies/annotations.ts'
import type { ExpressionPlace, Site, World } from '../policies/define.ts'
import { STAGE_OF_SECTION } from '../policies/expressions.ts'
import type { Fault } from './invalid.ts'
import type { Layer } from './layers.ts'
import type { Program } from './program.ts'
import { NO_SCOPES, type Scopes, scoped, scopesOf } from './scopes.ts'

const EXPECTED: Readonly<Record<ResultType, Type | undefined>> = {
  bool: BOOL,
  string: STRING,
  any: undefined,
}

/** Where a thing was written says nothing about what it does. */
export const PLACES: ReadonlySet<string> = new Set(['origin', 'diagnostics'])

/** What policies said of themselves while they were compiled. */
export interface Findings {
  /** The first policy with an expression that has an error: it denies what it guards. */
  failed: Fault | undefined
  readsBody: boolean
  readsHostname: boolean
  readsCertificate: boolean
}

export interface OpenSite extends Site {
  readonly findings: Readonly<Findings>
}

export interface SitesOptions {
  readonly now: () => number
  readonly previous: Program | undefined
  readonly placeOf: (policy: Attached) => string
  readonly world?: World | undefined
  readonly scrutiny?: Scrutiny | undefined
  readonly connect?: Site['connect']
}

/** Sites of one compilation: they share what is made once, and say what there is to say. */
export class Sites {
  readonly state = new Map<string, unknown>()
  readonly #now: () => number
  readonly #scrutiny: Scrutiny
  readonly #previous: Program | undefined
  readonly #placeOf: (policy: Attached) => string
  readonly #world: World
  readonly #connect: Site['connect']
  readonly #collector = collector()
  readonly #ids = new Map<object, number>()
  readonly #scopes = new Map<string, Scope>()
  readonly #expressions = new Map<string, Expression>()
  readonly #shared = new Map<string, { readonly value: unknown; readonly findings: Findings }>()

  constructor(options: SitesOptions) {
    const { now, previous, placeOf, world = {}, scrutiny = NO_SCRUTINY } = options
    this.#now = now
    this.#scrutiny = scrutiny
    this.#previous = previous
    this.#placeOf = placeOf
    this.#world = world
    this.#connect = options.connect ?? nowhere
  }

  get diagnostics(): readonly Diagnostic[] {
    return this.#collector.diagnostics()
  }

  report(diagnostic: Diagnostic): void {
    this.#collector.report(diagnostic)
  }

  /** When all is compiled: what was kept for the next one to need it. */
  close(): void {
    for (const expression of this.#expressions.values()) expression.letGo()
    this.#expressions.clear()
  }

  /** One text for the same things in the same order. */
  identity(things: readonly object[]): string {
    let text = ''
    for (const thing of things) {
      let id = this.#ids.get(thing)
      if (id === undefined) this.#ids.set(thing, (id = this.#ids.size))
      text += `${id} `
    }
    return text
  }

  /** What policies of the section see of who asks. */
  scopesAt(layers: readonly Layer[], section: Section): Scopes {
    return scopesOf(layers, section, {
      placeOf: this.#placeOf,
      intern: (scope) => {
        const key = Object.values(scope)
          .map((sources) => this.identity(sources))
          .join('| ')
        const known = this.#scopes.get(key) ?? scope
        this.#scopes.set(key, known)
        return known
      },
    })
  }

  /** Without scopes expressions see the most specific of what is known of who asks. */
  open(scopes: Scopes = NO_SCOPES): OpenSite {
    const findings: Findings = {
      failed: undefined,
      readsBody: false,
      readsHostname: false,
      readsCertificate: false,
    }
    const site: OpenSite = {
      findings,
      now: this.#now,
      scrutiny: this.#scrutiny,
      compile: (text, place) => {
        const expression = this.#compile(text, place, findings)
        return expression && scoped(expression, scopes.of(place.policy))
      },
      compileRule: (text, place) => this.#compile(text, place, findings),
      scopeOf: (policy) => scopes.of(policy),
      shared: (policies, make) => {
        // The same policies of a route see others of the gateway around them, whichever that is.
        const seen = policies.map((policy) => scopes.of(policy) ?? NO_SCOPES)
        return this.#share([...policies, ...seen], findings, make)
      },
      kept: (policy, make, part = '') => this.#keep(policy, part, make),
      report: (diagnostic) => this.report(diagnostic),
      world: this.#world,
      connect: this.#connect,
    }
    return site
  }

  #compile(text: string, place: ExpressionPlace, findings: Findings): Expression | undefined {
    const { policy, result } = place
    const stage: Stage = place.stage ?? STAGE_OF_SECTION[policy.section]
    const origin = place.origin ?? fieldOrigin(policy.origin, place.field)
    const { expression, diagnostics } = this.#expression(text, stage, result, origin)
    if (expression === undefined) {
      const diagnostic = diagnostics.find(({ severity }) => severity === 'error')
      findings.failed ??= { policy, diagnostic }
    } else if (mayRead(text)) note(expression, findings)
    return expression
  }

  /** What is written often is compiled once, unless there is something to say of each place. */
  #expression(text: string, stage: Stage, result: ResultType, origin: Origin): Compiled {
    const key = `${stage} ${result} ${text}`
    const known = this.#expressions.get(key)
    known?.hold()
    if (known !== undefined) return { expression: known, diagnostics: [] }
    const expect = EXPECTED[result]
    const options = expect === undefined ? { origin } : { origin, expect }
    const compiled = compile(text, STAGES[stage], options)
    const { expression, diagnostics } = compiled
    for (const diagnostic of diagnostics) this.report(diagnostic)
    if (expression !== undefined && diagnostics.length === 0) this.#expressions.set(key, expression)
    return compiled
  }

  /** Whoever shares a thing shares what was found while it was made. */
  #share<T>(policies: readonly object[], findings: Findings, make: () => T): T {
    const key = this.identity(policies)
    const known = this.#shared.get(key)
    if (known !== undefined) {
      merge(findings, known.findings)
      return known.value as T
    }
    const own: Findings = { ...findings }
    clear(findings)
    const value = make()
    this.#shared.set(key, { value, findings: { ...findings } })
    merge(findings, own)
    return value
  }

  #keep<T>(policy: ValidPolicy, part: string, make: () => T): T {
    const key = `${this.#placeOf(policy)} ${part} ${canonicalJson(policy, PLACES)}`
    const kept = (this.state.get(key) ?? this.#previous?.state.get(key) ?? make()) as T
    this.state.set(key, kept)
    return kept
  }
}

const nowhere: Site['connect'] = () => () => Promise.resolve({ failure: 'no-backend' })

function fieldOrigin(origin: Origin, field: string): Origin {
  if (origin.kind === 'file') return origin
  const joint = field.startsWith('[') || origin.field === '' ? '' : '.'
  return { ...origin, field: `${origin.field}${joint}${field}` }
}

/** A quick look before the slow one; escapes can hide a name. */
function mayRead(text: string): boolean {
  return /body|hostname|identity|subject|issuer|fingerprint|\\|\b(request|destination|source)\b(?!\s*\.)/.test(
    text,
  )
}

function note(expression: Expression, findings: Findings): void {
  for (const { variable, fields } of expression.reads) {
    const [field] = fields
    if (variable === 'request' && (field === undefined || field === 'body')) {
      findings.readsBody = true
    }
    if (variable === 'destination' && (field === undefined || field === 'hostname')) {
      findings.readsHostname = true
    }
    if (variable === 'source' && (field === undefined || !ADDRESSES.has(field))) {
      findings.readsCertificate = true
    }
  }
}

/** What is known of a client as soon as it is connected; the rest is in its certificate. */
const ADDRESSES: ReadonlySet<string> = new Set(['address', 'port', 'rawAddress', 'rawPort'])

function merge(into: Findings, from: Findings): void {
  into.failed ??= from.failed
  into.readsBody ||= from.readsBody
  into.readsHostname ||= from.readsHostname
  into.readsCertificate ||= from.readsCertificate
}

function clear(findings: Findings): void {
  findings.failed = undefined
  findings.readsBody = false
  findings.readsHostname = false
  findings.readsCertificate = false
}
