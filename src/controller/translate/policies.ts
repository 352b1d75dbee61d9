import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached, Level, Section } from '../../model/policy.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import { GATEWAY_API, PORTCULLIS, selects } from '../resources/metadata.ts'
import { type ProxyPolicyObject, proxyPolicy } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import { readPolicySection } from './policy-section.ts'
import { TARGET_SCHEMAS, type TargetKind, targetProblem } from './policy-targets.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import { type ClusterView, complaint, originOf, type Party, type Read, titleOf } from './view.ts'

/** A policy at one of its targets. */
interface Aimed {
  readonly record: PolicyRecord
  readonly field: string
  readonly problem: Diagnostic | undefined
}

/** What one Gateway is to know of a policy that reaches it. */
export interface Reached {
  readonly overridden: Set<string>
  readonly diagnostics: Set<Diagnostic>
}

export interface PolicyRecord {
  readonly read: Read<ProxyPolicyObject>
  /** What is wrong with it wherever it is attached. */
  readonly diagnostics: Set<Diagnostic>
  /** Targets that are not there. */
  readonly missing: string[]
  /** Gateway → what there is to know. */
  readonly reached: Map<string, Reached>
}

const SECTIONS: readonly Section[] = ['frontend', 'traffic', 'backend']
const COMPOSING: ReadonlySet<string> = new Set(
  POLICY_SCHEMAS.filter(({ composes }) => composes).map(({ kind }) => kind),
)

/** A part of the target: a listener, a rule, a port of a Service, a provider; or a port of a Gateway. */
export interface TargetPart {
  readonly section?: string
  readonly port?: number
}

/** All ProxyPolicies of a cluster, by what they are for. */
export class Policies {
  readonly records: readonly PolicyRecord[]
  readonly #view: ClusterView
  readonly #aimed = new Map<string, Aimed[]>()

  constructor(view: ClusterView) {
    this.#view = view
    this.records = view.all('ProxyPolicy', proxyPolicy).map((read) => {
      return { read, diagnostics: new Set<Diagnostic>(), missing: [], reached: new Map() }
    })
    for (const record of this.records) this.#aim(record)
  }

  /** Whether a policy is for one port of the Gateway. */
  hasPorts(gateway: string): boolean {
    return [...this.#aimed.keys()].some((id) => id.startsWith(`Gateway ${gateway} :`))
  }

  /** The policies of a target, the older first; of what does not add up only the first. */
  at(
    kind: TargetKind,
    key: string,
    part: TargetPart,
    level: Level,
    gateway: string,
    resolve: (from: Party, ref: ObjectBackendRef, origin: Diagnostic['origin']) => ResolvedRef,
  ): readonly Attached[] {
    const kept: Attached[] = []
    const owners = new Map<string, string>()
    for (const { record, field, problem } of this.#aimed.get(idOf(kind, key, part)) ?? []) {
      const { read } = record
      const reached = reachedAt(record, gateway)
      if (problem !== undefined) {
        kept.push(denying(read, field, level, problem))
        continue
      }
      const from = { group: PORTCULLIS, kind: 'ProxyPolicy', namespace: read.namespace }
      const context = {
        view: this.#view,
        read,
        resolve: (ref: ObjectBackendRef, at: string) => resolve(from, ref, originOf(read, at)),
      }
      for (const section of SECTIONS) {
        const value = read.value.spec[section]
        if (value === undefined) continue
        const place = { field: `spec.${section}`, section, level, policy: read.key }
        const { policies, diagnostics } = readPolicySection(context, value, place)
        for (const said of diagnostics) reached.diagnostics.add(said)
        for (const policy of policies) {
          const id = `${policy.section} ${policy.kind}`
          const winner = owners.get(id)
          if (winner !== undefined && !COMPOSING.has(policy.kind)) {
            reached.overridden.add(`${fieldOfOrigin(policy)} by ${winner}`)
            continue
          }
          if (winner === undefined) owners.set(id, titleOf(read))
          kept.push(policy)
        }
      }
    }
    return kept
  }

  #aim(record: PolicyRecord): void {
    const { read } = record
    const { targetRefs, targetSelectors } = read.value.spec
    if ((targetRefs === undefined) === (targetSelectors === undefined)) {
      const message = 'exactly one of `targetRefs` and `targetSelectors` is required'
      record.diagnostics.add(complaint(read, 'spec', 'PC0707', message))
    }
    for (const [index, target] of (targetRefs ?? []).entries()) {
      this.#aimAt(record, `spec.targetRefs[${index}]`, target, [target.name])
    }
    for (const [index, target] of (targetSelectors ?? []).entries()) {
      const field = `spec.targetSelectors[${index}]`
      const kind = kindOf(target)
      const names =
        kind === undefined
          ? []
          : this.#view
              .all(kind, TARGET_SCHEMAS[kind])
              .filter(({ namespace, object }) => {
                const { matchLabels } = target
                const isSelected = selects(
                  { matchLabels, matchExpressions: [] },
                  object.metadata.labels,
                )
                return namespace === read.namespace && isSelected
              })
              .map(({ name }) => name)
      if (names.length === 0) record.missing.push(`no ${target.kind} has the labels of ${field}`)
      this.#aimAt(record, field, target, names)
    }
  }

  #aimAt(
    record: PolicyRecord,
    field: string,
    target: { readonly group: string; readonly kind: string } & {
      readonly sectionName?: string | undefined
      readonly port?: number | undefined
    },
    names: readonly string[],
  ): void {
    const { read } = record
    const kind = kindOf(target)
    if (kind === undefined) {
      const message = `a policy cannot be for a ${target.kind} of \`${target.group}\``
      const hint = `available: ${Object.keys(TARGET_SCHEMAS).join(', ')}`
      record.diagnostics.add(complaint(read, field, 'PC0707', message, hint))
      return
    }
    const problem = targetProblem(read, field, kind, target)
    if (problem !== undefined) record.diagnostics.add(problem)
    for (const name of names) {
      const key = `${read.namespace}/${name}`
      const isThere = this.#view.get(kind, TARGET_SCHEMAS[kind], read.namespace, name) !== undefined
      if (!isThere && !(kind === 'Service' && this.#view.assumesMissing)) {
        record.missing.push(`there is no ${kind} ${key}`)
        continue
      }
      const { sectionName, port } = target
      const part = {
        ...(sectionName === undefined ? {} : { section: sectionName }),
        ...(port === undefined ? {} : { port }),
      }
      const id = idOf(kind, key, part)
      const known = this.#aimed.get(id) ?? []
      // Two references to one thing are one.
      if (known.some((one) => one.record === record)) continue
      this.#aimed.set(id, [...known, { record, field, problem }])
    }
  }
}

function reachedAt({ reached }: PolicyRecord, gateway: string): Reached {
  const known = reached.get(gateway)
  if (known !== undefined) return known
  const made = { overridden: new Set<string>(), diagnostics: new Set<Diagnostic>() }
  reached.set(gateway, made)
  return made
}

function idOf(kind: string, key: string, { section, port }: TargetPart): string {
  return `${kind} ${key} ${port === undefined ? '' : `:${port}`}${section === undefined ? '' : `/${section}`}`
}

function kindOf({
  group,
  kind,
}: {
  readonly group: string
  readonly kind: string
}): TargetKind | undefined {
  const own =
    group === '' ? kind === 'Service' : group === PORTCULLIS ? kind === 'ProxyBackend' : false
  if (own) return kind as TargetKind
  if (group !== GATEWAY_API || kind === 'Service' || kind === 'ProxyBackend') return undefined
  return Object.hasOwn(TARGET_SCHEMAS, kind) ? (kind as TargetKind) : undefined
}

function fieldOfOrigin({ origin }: Attached): string {
  return origin.kind === 'object' ? origin.field : ''
}

/** In place of a policy that cannot be for its target: nobody is let past it. */
function denying(
  read: Read<ProxyPolicyObject>,
  field: string,
  level: Level,
  problem: Diagnostic,
): Attached {
  const isFrontend = read.value.spec.frontend !== undefined && level === 'gateway'
  const section: Section = isFrontend
    ? 'frontend'
    : level === 'backend' || level === 'provider'
      ? 'backend'
      : 'traffic'
  return {
    state: 'invalid',
    kind: isFrontend ? 'networkAuthorization' : 'authorization',
    section,
    level,
    policy: read.key,
    origin: originOf(read, field),
    diagnostics: [problem],
  }
}
