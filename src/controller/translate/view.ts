import type * as z from 'zod'
import type { Diagnostic, ObjectOrigin } from '../../diagnostics/diagnostic.ts'
import { canonicalJson } from '../../model/json.ts'
import { type KubeObject, keyOf } from '../cluster/object.ts'
import { EMPTY_SNAPSHOT, type ObjectChange, objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import { configMap, referenceGrant, secret } from '../resources/cluster-objects.ts'
import { GATEWAY_API, type LabelSelector, selects } from '../resources/metadata.ts'
import { Cells } from './cells.ts'
import { OK, reject, type Verdict } from './conditions.ts'
import { LabelIndex } from './label-index.ts'
import { ObjectList, type Outcome, type PartProblem, type Read } from './object-list.ts'
import { readParts } from './read-parts.ts'

export type { PartProblem, Read }

/** The source or the target of a reference. */
export interface Party {
  readonly group: string
  readonly kind: string
  readonly namespace: string
}

/** The name of an object in messages. */
export function titleOf({ kind, key }: Pick<Read, 'kind' | 'key'>): string {
  return `${kind} ${key}`
}

export function originOf(read: Pick<Read, 'kind' | 'key'>, field: string): ObjectOrigin {
  return { kind: 'object', object: titleOf(read), field }
}

/** An object that cannot be read. */
export interface Failure extends Omit<Read, 'value' | 'problems'> {
  readonly diagnostics: readonly Diagnostic[]
}

/** A diagnostic about a field of an object. */
export function complaint(
  read: Pick<Read, 'kind' | 'key'>,
  field: string,
  code: string,
  message: string,
  hint?: string,
): Diagnostic {
  const said = { code, severity: 'error', message, origin: originOf(read, field) } as const
  return hint === undefined ? said : { ...said, hint }
}

/** Objects read by schemas: most stay the same from one Snapshot to the next. */
const READ = new WeakMap<z.ZodType, WeakMap<KubeObject, Outcome>>()

/** The visible objects of a cluster, read by their schemas, from one Snapshot to the next. */
export class ClusterView {
  readonly cells = new Cells()
  /** Manifests are a part of a cluster, which may contain the other objects they refer to. */
  readonly assumesMissing: boolean
  readonly #visible: ReadonlySet<string> | undefined
  readonly #lists = new Map<string, ObjectList>()
  readonly #indexes = new Map<string, LabelIndex>()
  readonly #assumed = new Map<string, Diagnostic>()
  #snapshot: Snapshot = EMPTY_SNAPSHOT

  /** `visible`: the namespaces to read; all if undefined. */
  constructor(visible: ReadonlySet<string> | undefined, assumesMissing = false) {
    this.#visible = visible
    this.assumesMissing = assumesMissing
  }

  /** Switches to the objects of this Snapshot. */
  update(snapshot: Snapshot, changes: Iterable<ObjectChange>): void {
    const { cells } = this
    const byKind = Map.groupBy(changes, ({ kind }) => kind)
    this.#snapshot = snapshot
    for (const [kind, all] of byKind) {
      this.#lists.get(kind)?.update(all.filter((one) => this.#counts(one.after ?? one.before)))
      for (const index of this.#indexes.values()) if (index.kind === kind) index.update(all)
      cells.touch(`${kind} *`)
      for (const { key, before, after } of all) {
        const { namespace = '' } = (after ?? before)?.metadata ?? {}
        cells.touch(`${kind} ${key}`)
        cells.touch(`${kind} in ${namespace}`)
        if (!hasSameLabels(before, after)) cells.touch(`labels of ${kind} in ${namespace}`)
      }
    }
  }

  /** All objects of a kind, oldest first. Objects that cannot be read are omitted. */
  all<S extends z.ZodType>(kind: string, schema: S): readonly Read<z.output<S>>[] {
    this.cells.read(`${kind} *`)
    return this.#list(kind, schema).reads as readonly Read<z.output<S>>[]
  }

  /** The objects of a namespace. */
  within<S extends z.ZodType>(
    kind: string,
    schema: S,
    namespace: string,
  ): readonly Read<z.output<S>>[] {
    this.cells.read(`${kind} in ${namespace}`)
    const all = this.#list(kind, schema).reads as readonly Read<z.output<S>>[]
    return all.filter((one) => one.namespace === namespace)
  }

  /** The names of the objects in a namespace whose labels match. */
  labelled(
    kind: string,
    schema: z.ZodType,
    namespace: string,
    selector: LabelSelector,
  ): readonly string[] {
    this.cells.read(`labels of ${kind} in ${namespace}`)
    return this.#list(kind, schema)
      .reads.filter((one) => one.namespace === namespace)
      .filter(({ object }) => selects(selector, object.metadata.labels))
      .map(({ name }) => name)
  }

  /** The objects with a value of a label, found without visiting all others. */
  byLabel<S extends z.ZodType>(
    kind: string,
    schema: S,
    label: string,
    namespace: string,
    value: string,
  ): readonly Read<z.output<S>>[] {
    this.cells.read(`${kind} in ${namespace} by ${value}`)
    const id = `${kind} ${label}`
    let index = this.#indexes.get(id)
    if (index === undefined) {
      index = new LabelIndex(kind, label, this.cells)
      const all = objectsOf(this.#snapshot, kind)
      index.update([...all].map(([key, after]) => ({ kind, key, before: undefined, after })))
      this.#indexes.set(id, index)
    }
    return index.get(namespace, value).flatMap((key) => {
      const object = objectsOf(this.#snapshot, kind).get(key)
      const outcome = object && this.#counts(object) ? read(object, kind, schema) : undefined
      return outcome && 'read' in outcome ? [outcome.read as Read<z.output<S>>] : []
    })
  }

  /** Diagnostics of objects that cannot be read, of the kinds that were listed. */
  *unreadable(): Generator<Diagnostic> {
    for (const { failures, reads } of this.#lists.values()) {
      for (const diagnostics of failures.values()) yield* diagnostics
      for (const { problems } of reads) for (const { diagnostic } of problems) yield diagnostic
    }
  }

  /** The objects of a kind that cannot be read at all. */
  failures(kind: string, schema: z.ZodType): readonly Failure[] {
    this.cells.read(`${kind} *`)
    return [...this.#list(kind, schema).failures].flatMap(([key, diagnostics]) => {
      const object = objectsOf(this.#snapshot, kind).get(key)
      if (object === undefined) return []
      const { name, namespace = '' } = object.metadata
      return [{ kind, key, namespace, name, object, diagnostics }]
    })
  }

  /** Why `get` finds no object: there is none, or it cannot be read. */
  absence(kind: string, schema: z.ZodType, where: string, name: string): string {
    const key = keyOf({ namespace: where, name })
    const object = this.live(kind, key)
    const isVisible = object !== undefined && this.#counts(object)
    const outcome = isVisible ? read(object, kind, schema) : undefined
    return outcome !== undefined && 'diagnostics' in outcome
      ? `${kind} ${key} cannot be read: ${textOf(outcome.diagnostics)}`
      : `${kind} ${key} not found`
  }

  get<S extends z.ZodType>(
    kind: string,
    schema: S,
    where: string,
    name: string,
  ): Read<z.output<S>> | undefined {
    const key = keyOf({ namespace: where, name })
    this.cells.read(`${kind} ${key}`)
    const object = objectsOf(this.#snapshot, kind).get(key)
    if (object === undefined || !this.#counts(object)) return undefined
    const outcome = read(object, kind, schema)
    return 'read' in outcome ? (outcome.read as Read<z.output<S>>) : undefined
  }

  /** Whether the object exists and can be read. */
  has(kind: string, schema: z.ZodType, where: string, name: string): boolean {
    const find = () => this.get(kind, schema, where, name) !== undefined
    return this.cells.shared(`is there ${kind} ${where}/${name}`, find, Object.is)
  }

  /** The object as received, even if it is not visible or cannot be read. */
  live(kind: string, key: string): KubeObject | undefined {
    this.cells.read(`${kind} ${key}`)
    return objectsOf(this.#snapshot, kind).get(key)
  }

  /** Records that an object is missing in the manifests and assumed to be in the cluster. */
  assume(kind: string, key: string, said?: Diagnostic): void {
    const usual: Diagnostic = {
      code: 'PC0711',
      severity: 'info',
      message: `${kind} ${key} is not in the manifests; it is assumed to exist`,
      origin: originOf({ kind, key }, ''),
    }
    this.#assumed.set(said === undefined ? `${kind} ${key}` : JSON.stringify(said), said ?? usual)
  }

  get assumed(): Iterable<Diagnostic> {
    return this.#assumed.values()
  }

  labelsOf(name: string): Readonly<Record<string, string>> {
    this.cells.read(`Namespace ${name}`)
    const { metadata } = objectsOf(this.#snapshot, 'Namespace').get(name) ?? {}
    // Every namespace has this label, even if its manifest does not set it.
    return { 'kubernetes.io/metadata.name': name, ...metadata?.labels }
  }

  /** Whether a reference is allowed: across namespaces, the target's needs a ReferenceGrant. */
  isGranted(from: Party, to: Party & { readonly name: string }): boolean {
    if (from.namespace === to.namespace) return true
    return this.within('ReferenceGrant', referenceGrant, to.namespace).some(
      ({ value: { spec: grant } }) =>
        grant.from.some((one) => isSame(one, from) && one.namespace === from.namespace) &&
        grant.to.some((one) => isSame(one, to) && (one.name === undefined || one.name === to.name)),
    )
  }

  /** The entry of a Secret as a string; undefined if there is none. */
  secretEntry(where: string, name: string, entry: string): string | undefined {
    return this.secretEntries(where, name)?.get(entry)
  }

  secretEntries(where: string, name: string): ReadonlyMap<string, string> | undefined {
    const found = this.get('Secret', secret, where, name)
    if (found === undefined) return undefined
    const { data, stringData } = found.value
    const decoded = Object.entries(data ?? {}).map(
      ([key, text]) => [key, Buffer.from(text, 'base64').toString('utf8')] as const,
    )
    return new Map([...decoded, ...Object.entries(stringData ?? {})])
  }

  configEntries(where: string, name: string): ReadonlyMap<string, string> | undefined {
    const found = this.get('ConfigMap', configMap, where, name)
    return found && new Map(Object.entries(found.value.data ?? {}))
  }

  #list(kind: string, schema: z.ZodType): ObjectList {
    const known = this.#lists.get(kind)
    if (known !== undefined) return known
    const list = new ObjectList((object) => read(object, kind, schema))
    const all = [...objectsOf(this.#snapshot, kind)].filter(([, object]) => this.#counts(object))
    list.update(all.map(([key, after]) => ({ kind, key, before: undefined, after })))
    this.#lists.set(kind, list)
    return list
  }

  #counts(object: KubeObject | undefined): boolean {
    const { namespace: where } = object?.metadata ?? {}
    return where === undefined || this.#visible === undefined || this.#visible.has(where)
  }
}

/** Whether both exist and have the same labels. */
function hasSameLabels(before: KubeObject | undefined, after: KubeObject | undefined): boolean {
  if (before === undefined || after === undefined) return false
  return canonicalJson(before.metadata.labels ?? {}) === canonicalJson(after.metadata.labels ?? {})
}

function isSame(a: Omit<Party, 'namespace'>, b: Omit<Party, 'namespace'>): boolean {
  return a.group === b.group && a.kind === b.kind
}

function read(object: KubeObject, kind: string, schema: z.ZodType): Outcome {
  let known = READ.get(schema)
  if (known === undefined) READ.set(schema, (known = new WeakMap()))
  const found = known.get(object)
  if (found !== undefined) return found
  const made = readAnew(object, kind, schema)
  known.set(object, made)
  return made
}

function readAnew(object: KubeObject, kind: string, schema: z.ZodType): Outcome {
  const { name, namespace: where = '' } = object.metadata
  const about = { kind, key: keyOf(object.metadata) }
  const { value, issues } = readParts(schema, object)
  const problems = issues.map(({ path, message, hint }): PartProblem => {
    return { path, diagnostic: complaint(about, fieldOf(path), 'PC0701', message, hint) }
  })
  const isReadable = value !== undefined && (problems.length === 0 || BY_PARTS.has(kind))
  if (!isReadable) return { diagnostics: problems.map(({ diagnostic }) => diagnostic) }
  return { read: { object, value, problems, ...about, namespace: where, name } }
}

/**
 * Kinds whose translation rejects what a problem belongs to. Objects of other kinds with any
 * problem count as unreadable.
 */
const BY_PARTS: ReadonlySet<string> = new Set([
  'GatewayClass',
  'Gateway',
  'ListenerSet',
  'HTTPRoute',
  'GRPCRoute',
  'TLSRoute',
  'TCPRoute',
  'BackendTLSPolicy',
  'ProxyPolicy',
  'ProxyBackend',
  'ProxyModel',
  'ProxyParameters',
  'XBackend',
  'InferencePool',
])

/** Rejects what problems belong to. */
export function verdictOn(problems: readonly PartProblem[], reason = 'UnsupportedValue'): Verdict {
  return problems.length === 0
    ? OK
    : reject(reason, textOf(problems.map(({ diagnostic }) => diagnostic)))
}

/** `spec.port.number: unknown field` */
export function textOf(diagnostics: readonly Diagnostic[]): string {
  return diagnostics
    .map(({ origin, message }) =>
      origin.kind === 'object' ? `${origin.field}: ${message}` : message,
    )
    .join('; ')
}

/** `spec.rules[0].matches` */
export function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

export function identityOf({ kind, namespace, name, object }: Omit<Read, 'value' | 'problems'>) {
  return { kind, namespace, name, generation: object.metadata.generation ?? 0 }
}

/** A reference to a Gateway by its key, as used in statuses. */
export function gatewayRef(key: string) {
  const [namespace = '', name = ''] = key.split('/')
  return { group: GATEWAY_API, kind: 'Gateway', namespace, name }
}
