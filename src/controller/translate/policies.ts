import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached, Level, Section } from '../../model/policy.ts'
import { isSame } from '../../model/reconcile.ts'
import { POLICY_SCHEMAS } from '../../policies/schema.ts'
import { byAge } from '../cluster/object.ts'
import { INFERENCE } from '../resources/inference.ts'
import { GATEWAY_API, PORTCULLIS } from '../resources/metadata.ts'
import { type ProxyPolicyObject, proxyPolicy } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import { Cell } from './cells.ts'
import { type Effects, reachedAt } from './effects.ts'
import { readPolicySection } from './policy-section.ts'
import { missingSection, TARGET_SCHEMAS, type TargetKind, targetProblem } from './policy-targets.ts'
import { resolver } from './references.ts'
import { type ClusterView, complaint, originOf, type Read, titleOf } from './view.ts'

/** A policy at one of its targets. */
interface Aimed {
  readonly read: Read<ProxyPolicyObject>
  readonly field: string
  readonly problem: Diagnostic | undefined
}

export interface MissingTarget {
  readonly reason: 'TargetNotFound' | 'SectionNameNotFound'
  readonly field: string
  readonly message: string
  readonly hint?: string
}

/** The targets of a policy, and its errors that do not depend on where it is attached. */
export interface PolicyRecord {
  readonly read: Read<ProxyPolicyObject>
  readonly diagnostics: ReadonlySet<Diagnostic>
  /** Targets, or sections of them, that do not exist. */
  readonly missing: readonly MissingTarget[]
  /** Name of a target → how the policy refers to it. */
  readonly aims: ReadonlyMap<string, Aimed>
}

interface PolicyDraft extends PolicyRecord {
  readonly diagnostics: Set<Diagnostic>
  readonly missing: MissingTarget[]
  readonly aims: Map<string, Aimed>
}

const SECTIONS: readonly Section[] = ['frontend', 'traffic', 'backend']
const COMPOSING: ReadonlySet<string> = new Set(
  POLICY_SCHEMAS.filter(({ composes }) => composes).map(({ kind }) => kind),
)

/** A part of the target: a listener, a rule, a Service port, a provider; or a port of a Gateway. */
export interface TargetPart {
  readonly section?: string
  readonly port?: number
}

/** All ProxyPolicies of a cluster, by target. */
export class Policies {
  readonly #view: ClusterView
  readonly #cells = new Map<string, Cell<PolicyRecord | undefined>>()
  readonly #records = new Map<string, PolicyRecord>()
  /** Name of a target → its policies, oldest first. */
  readonly #aimed = new Map<string, readonly Aimed[]>()
  readonly #stale = new Set<string>()

  constructor(view: ClusterView) {
    this.#view = view
  }

  record(key: string): PolicyRecord | undefined {
    return this.#records.get(key)
  }

  /** Reads the policies that are new or may have changed. Returns their keys. */
  update(changed: Iterable<string>): ReadonlySet<string> {
    for (const key of changed) {
      this.#stale.add(key)
      if (this.#cells.has(key)) continue
      const stale = () => void this.#stale.add(key)
      this.#cells.set(key, new Cell(this.#view.cells, () => this.#read(key), isSameRecord, stale))
    }
    const looked = new Set(this.#stale)
    this.#stale.clear()
    for (const key of looked) this.#settle(key)
    return looked
  }

  #settle(key: string): void {
    const cell = this.#cells.get(key)
    const before = this.#records.get(key)
    const after = cell?.get()
    if (after === undefined) {
      this.#records.delete(key)
      if (this.#view.live('ProxyPolicy', key) === undefined) {
        cell?.drop()
        this.#cells.delete(key)
      }
    } else this.#records.set(key, after)
    if (before === after) return
    const old = new Set(before?.aims.values())
    for (const id of new Set([...(before?.aims.keys() ?? []), ...(after?.aims.keys() ?? [])])) {
      const kept = (this.#aimed.get(id) ?? []).filter((one) => !old.has(one))
      const aimed = after?.aims.get(id)
      const all = aimed === undefined ? kept : [...kept, aimed]
      if (all.length === 0) this.#aimed.delete(id)
      else
        this.#aimed.set(
          id,
          all.sort((a, b) => byAge(a.read.object, b.read.object)),
        )
      this.#view.cells.touch(`policies for ${id}`)
      const [gateway] = id.split(' :')
      if (gateway !== id) this.#view.cells.touch(`policies for ports of ${gateway}`)
    }
  }

  #read(key: string): PolicyRecord | undefined {
    const [namespace = '', name = ''] = key.split('/')
    const read = this.#view.get('ProxyPolicy', proxyPolicy, namespace, name)
    if (read === undefined) return undefined
    const diagnostics = new Set(read.problems.map(({ diagnostic }) => diagnostic))
    const record = { read, diagnostics, missing: [], aims: new Map() }
    this.#aim(record)
    return record
  }

  /** Whether a policy targets one port of the Gateway. */
  hasPorts(gateway: string, ports: readonly number[]): boolean {
    this.#view.cells.read(`policies for ports of Gateway ${gateway}`)
    return ports.some((port) => this.#aimed.has(idOf('Gateway', gateway, { port })))
  }

  /** The policies of a target, oldest first; of kinds that do not compose, only the first one. */
  at(
    kind: TargetKind,
    key: string,
    part: TargetPart,
    level: Level,
    effects: Effects,
  ): readonly Attached[] {
    const kept: Attached[] = []
    const owners = new Map<string, string>()
    const id = idOf(kind, key, part)
    this.#view.cells.read(`policies for ${id}`)
    const resolve = resolver(this.#view, effects)
    for (const { read, field, problem } of this.#aimed.get(id) ?? []) {
      const reached = reachedAt(effects, read.key)
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

  #aim(record: PolicyDraft): void {
    const { read } = record
    const { targetRefs, targetSelectors } = read.value.spec
    if ((targetRefs === undefined) === (targetSelectors === undefined)) {
      const message = 'set exactly one of `targetRefs` and `targetSelectors`'
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
          : this.#view.labelled(kind, TARGET_SCHEMAS[kind], read.namespace, {
              matchLabels: target.matchLabels,
              matchExpressions: [],
            })
      if (names.length === 0) {
        const message = `no ${target.kind} matches the labels of ${field}`
        record.missing.push({ reason: 'TargetNotFound', field, message })
      }
      this.#aimAt(record, field, target, names)
    }
  }

  #aimAt(
    record: PolicyDraft,
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
      const message = `a policy cannot target a ${target.kind} of \`${target.group}\``
      const hint = `available: ${Object.keys(TARGET_SCHEMAS).join(', ')}`
      record.diagnostics.add(complaint(read, field, 'PC0707', message, hint))
      return
    }
    // A policy that cannot be read as a whole denies what it would guard.
    const problem = read.problems[0]?.diagnostic ?? targetProblem(read, field, kind, target)
    if (problem !== undefined) record.diagnostics.add(problem)
    for (const name of names) {
      const key = `${read.namespace}/${name}`
      const isThere = this.#view.has(kind, TARGET_SCHEMAS[kind], read.namespace, name)
      const isAssumed = !isThere && kind === 'Service' && this.#view.assumesMissing
      if (!isThere && !isAssumed) {
        const message = this.#view.absence(kind, TARGET_SCHEMAS[kind], read.namespace, name)
        record.missing.push({ reason: 'TargetNotFound', field, message })
        continue
      }
      const missing = isAssumed ? undefined : missingSection(this.#view, kind, key, target)
      if (missing !== undefined) {
        record.missing.push({ reason: 'SectionNameNotFound', field, ...missing })
        continue
      }
      const { sectionName, port } = target
      const part = {
        ...(sectionName === undefined ? {} : { section: sectionName }),
        ...(port === undefined ? {} : { port }),
      }
      const id = idOf(kind, key, part)
      // Duplicate references to a target count once.
      if (!record.aims.has(id)) record.aims.set(id, { read, field, problem })
    }
  }
}

/** Status updates of a policy change the object but none of its settings. */
function isSameRecord(a: PolicyRecord | undefined, b: PolicyRecord | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return (
    isSame(a.read.value.spec, b.read.value.spec) &&
    byAge(a.read.object, b.read.object) === 0 &&
    a.read.object.metadata.generation === b.read.object.metadata.generation &&
    isSame([...a.aims.keys()], [...b.aims.keys()]) &&
    isSame([...a.diagnostics], [...b.diagnostics]) &&
    isSame(a.missing, b.missing)
  )
}

function idOf(kind: string, key: string, { section, port }: TargetPart): string {
  return `${kind} ${key} ${port === undefined ? '' : `:${port}`}${section === undefined ? '' : `/${section}`}`
}

/** The groups of targets outside the Gateway API. */
const GROUPS: Readonly<Record<string, string>> = {
  Service: '',
  ProxyBackend: PORTCULLIS,
  InferencePool: INFERENCE,
}

function kindOf({
  group,
  kind,
}: {
  readonly group: string
  readonly kind: string
}): TargetKind | undefined {
  if (!Object.hasOwn(TARGET_SCHEMAS, kind)) return undefined
  return group === (GROUPS[kind] ?? GATEWAY_API) ? (kind as TargetKind) : undefined
}

function fieldOfOrigin({ origin }: Attached): string {
  return origin.kind === 'object' ? origin.field : ''
}

/** Replaces a policy that cannot apply to its target: it denies everything. */
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
