import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Outcome, Step } from '../exchange/step.ts'
import type { Attached, Section, ValidPolicy } from '../model/policy.ts'
import { refsIn, secretText } from '../model/secret.ts'
import type { Meter, Part, Policy } from '../policies/define.ts'
import type { MirrorTarget } from '../policies/delivery.ts'
import { NO_TIMEOUTS } from '../policies/delivery.ts'
import { POLICIES } from '../policies/index.ts'
import { type BodyNeed, valuesOf } from '../policies/schema.ts'
import { type Effective, effectiveAt, NO_POLICIES } from '../reach/effective.ts'
import { recordOf } from '../reach/kinds.ts'
import type { Layer } from '../reach/layers.ts'
import type { CompileContexts } from './compile-context.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { CompiledSection } from './compiled-section.ts'
import { type Fault, faultOf, invalidDecider, invalidStep } from './invalid.ts'
import { linkSteps, placeStep } from './link.ts'
import type { Scopes } from './scopes.ts'
import type { Recorded } from './uses.ts'
import { wayBackOf } from './way-back.ts'

const EMPTY: CompiledSection = {
  steps: [],
  run: linkSteps([]),
  kinds: [],
  readsBody: false,
  readsBeginning: false,
  bodyPaths: undefined,
  decodesBody: false,
  readsModel: false,
  timeouts: NO_TIMEOUTS,
  retry: undefined,
  mirrors: [],
  meters: [],
  authentications: [],
  decider: undefined,
}

export type IsOwn = (policy: Attached) => boolean

/** With its position in the order of execution. */
const RUNNING: ReadonlyMap<string, { readonly policy: Policy; readonly turn: number }> = new Map(
  POLICIES.map((policy, turn) => [policy.kind, { policy, turn }]),
)

/** Routes that the same policies reach share the compiled section. */
export class SectionCompiler {
  readonly #contexts: CompileContexts
  readonly #services: Pick<CompileDeps, 'watchStep'>
  /** Keyed by the policy if there is only one, otherwise by the identity of all. */
  readonly #made = new Map<object | string, Recorded<CompiledSection>>()
  readonly #kinds = new Map<string, readonly string[]>()

  constructor(contexts: CompileContexts, services: Pick<CompileDeps, 'watchStep'>) {
    this.#contexts = contexts
    this.#services = services
  }

  /**
   * Compiles all layers around a point, the gateway's first; `isOwn` selects the policies that are
   * compiled here.
   */
  compile(layers: readonly Layer[], section: Section, isOwn?: IsOwn): CompiledSection {
    const all = effectiveAt(layers, section)
    if (all === NO_POLICIES) return EMPTY
    const reached = isOwn === undefined ? all : only(all, isOwn)
    const scopes = this.#contexts.scopesAt(layers, section)
    const key = this.#keyOf(reached, section, scopes)
    return this.#contexts.once(this.#made, key, () => this.#compile(reached, section, scopes))
  }

  /** A policy belongs to one section, so it can be the key by itself. */
  #keyOf({ byKind, invalid }: Effective, section: Section, { sources }: Scopes): object | string {
    if (byKind.size === 1 && invalid.length === 0 && sources.length === 0) {
      for (const [only, ...others] of byKind.values()) if (others.length === 0) return only
    }
    let key = `${section} `
    for (const policies of byKind.values()) key += this.#contexts.identity(policies)
    return `${key}|${this.#contexts.identity(invalid)}|${this.#contexts.identity(sources)}`
  }

  #compile({ byKind, invalid }: Effective, section: Section, scopes: Scopes): CompiledSection {
    const context = this.#contexts.open(scopes)
    const active = inTurn(byKind, section)
    const parts = active.map((policy) => compileOne(policy, byKind, context, this.#services))
    const unenforced = this.#unenforced(byKind, section, active)
    const unknown = this.#withoutSecret(byKind, active)
    const [fault = unenforced[0] ?? unknown ?? context.findings.failed] = invalid.map(faultOf)
    const isBroken = fault !== undefined
    const placed = parts.map((part, i) => ({
      part,
      policy: byKind.get(active[i]?.kind ?? '')?.[0],
    }))
    const steps = isBroken ? [invalidStep(fault)] : stepsOf(parts)
    return {
      steps,
      run: linkSteps(steps),
      kinds: isBroken ? EMPTY.kinds : this.#kindsOf(active, parts),
      readsBody: !isBroken && (context.findings.readsBody || needs(byKind, active, 'whole')),
      decodesBody: !isBroken && context.findings.readsBody,
      readsModel: context.findings.readsModel,
      readsBeginning: !isBroken && needs(byKind, active, 'beginning'),
      bodyPaths: isBroken ? undefined : bodyPathsOf(byKind, active),
      timeouts: parts.find(({ timeouts }) => timeouts)?.timeouts ?? NO_TIMEOUTS,
      retry: parts.find(({ retry }) => retry)?.retry,
      mirrors: mirrorsOf(parts),
      meters: metersOf(parts),
      authentications: scopes.sources,
      decider: isBroken ? invalidDecider(fault) : parts.find(({ decider }) => decider)?.decider,
      ...wayBackOf(isBroken ? [] : placed, context.findings.readsResponseBody),
    }
  }

  /** Most sections have the same few kinds: equal lists share one object. */
  #kindsOf(active: readonly Policy[], parts: readonly Part[]): readonly string[] {
    const own = active.filter((_, index) => parts[index]?.step !== undefined)
    const kinds = own.map(({ kind }) => kind)
    const key = kinds.join(' ')
    const known = this.#kinds.get(key) ?? kinds
    this.#kinds.set(key, known)
    return known
  }

  /** Without its secret, a policy would reject every client or send incomplete requests. */
  #withoutSecret(byKind: Effective['byKind'], active: readonly Policy[]): Fault | undefined {
    let fault: Fault | undefined
    for (const { kind } of active) {
      // There may be thousands of rules, and they have no secrets.
      if (recordOf(kind)?.hasRules) continue
      for (const policy of byKind.get(kind) ?? []) {
        const missing = missingSecret(policy.value)
        if (missing === undefined) continue
        const diagnostic = unknownSecret(policy, missing)
        this.#contexts.report(diagnostic)
        fault ??= { policy, diagnostic }
      }
    }
    return fault
  }

  #unenforced(byKind: Effective['byKind'], section: Section, active: readonly Policy[]): Fault[] {
    if (active.length === byKind.size) return []
    const ignored = [...byKind].filter(
      ([kind]) => !active.some((policy) => policy.kind === kind) && !isClusters(kind, section),
    )
    const faults = ignored.map(([, [policy]]) => ({ policy, diagnostic: unsupported(policy) }))
    for (const { diagnostic } of faults) this.#contexts.report(diagnostic)
    return faults
  }
}

function only({ byKind, invalid }: Effective, isOwn: IsOwn): Effective {
  const own = new Map<string, readonly [ValidPolicy, ...ValidPolicy[]]>()
  for (const [kind, policies] of byKind) {
    const [first, ...rest] = policies.filter(isOwn)
    if (first !== undefined) own.set(kind, [first, ...rest])
  }
  return { byKind: own, invalid: invalid.filter(isOwn) }
}

function inTurn(byKind: Effective['byKind'], section: Section): readonly Policy[] {
  const active = [...byKind.keys()].flatMap((kind) => RUNNING.get(kind) ?? [])
  const own = active.filter(({ policy: { kind } }) => recordOf(kind)?.sections[section])
  return own.sort((a, b) => a.turn - b.turn).map(({ policy }) => policy)
}

function compileOne(
  policy: Policy,
  byKind: Effective['byKind'],
  context: ReturnType<CompileContexts['open']>,
  services: Pick<CompileDeps, 'watchStep'>,
): Part {
  const policies = byKind.get(policy.kind)
  if (policies === undefined) return {}
  const part = policy.compile(policies, context)
  if (part.step === undefined) return part
  const observe = services.watchStep?.(policies[0])
  if (observe === undefined) {
    placeStep(part.step, policies[0])
    return part
  }
  return { ...part, step: placeStep(watched(part.step, observe), policies[0]) }
}

/** Most have one part, and growing lists allocate more than they contain. */
function stepsOf(parts: readonly Part[]): readonly Step[] {
  const [first, ...others] = parts
  if (others.length === 0 && first?.step !== undefined) return [first.step]
  return parts.flatMap(({ step }) => step ?? [])
}

function mirrorsOf(parts: readonly Part[]): readonly MirrorTarget[] {
  const isMirrored = parts.some(({ mirrors }) => mirrors !== undefined)
  return isMirrored ? parts.flatMap(({ mirrors }) => mirrors ?? []) : EMPTY.mirrors
}

function metersOf(parts: readonly Part[]): readonly Meter[] {
  const isMetered = parts.some(({ meter }) => meter !== undefined)
  return isMetered ? parts.flatMap(({ meter }) => meter ?? []) : EMPTY.meters
}

function watched(step: Step, observe: (outcome: Outcome) => void): Step {
  const pass = (outcome: Outcome) => {
    observe(outcome)
    return outcome
  }
  return (exchange) => {
    const outcome = step(exchange)
    return outcome instanceof Promise ? outcome.then(pass) : pass(outcome)
  }
}

/** The part of the body that a policy itself reads, according to its record. */
function needs(byKind: Effective['byKind'], active: readonly Policy[], need: BodyNeed): boolean {
  for (const { kind } of active) {
    const body = recordOf(kind)?.body as ((value: unknown) => BodyNeed) | undefined
    if (body === undefined) continue
    const values = byKind.get(kind)?.flatMap(({ value }) => valuesOf(value)) ?? []
    if (values.some((value) => body(value) === need)) return true
  }
  return false
}

function bodyPathsOf(
  byKind: Effective['byKind'],
  active: readonly Policy[],
): ReadonlySet<string> | undefined {
  const paths = active.flatMap(({ kind }) => {
    const bodyAt = recordOf(kind)?.bodyAt as ((value: unknown) => readonly string[]) | undefined
    if (bodyAt === undefined) return []
    return (byKind.get(kind) ?? []).flatMap(({ value }) => bodyAt(value))
  })
  return paths.length === 0 ? undefined : new Set(paths)
}

/** Read when the cluster of the backend is opened; the others run for each request. */
function isClusters(kind: string, section: Section): boolean {
  return section === 'backend' && recordOf(kind)?.cluster !== undefined
}

/** Returns the name of the secret. */
function missingSecret(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return refsIn(value).find((ref) => secretText(ref) === undefined)?.secretRef
}

function unknownSecret({ kind, origin }: ValidPolicy, name: string): Diagnostic {
  return {
    code: 'PC0505',
    severity: 'error',
    message: `\`${kind}\` requires the secret \`${name}\`, whose value was not delivered with the configuration`,
    origin,
    hint: 'the resources that it guards respond with 500 until the value is available',
  }
}

/** A policy that is not enforced looks like protection but is none. */
function unsupported({ kind, section, origin }: ValidPolicy): Diagnostic {
  return {
    code: 'PC0219',
    severity: 'error',
    message: `\`${kind}\` is not supported in \`${section}\` here`,
    origin,
    hint: 'the resources that it guards respond with 500; remove it to serve them without it',
  }
}
