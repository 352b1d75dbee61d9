import * as z from 'zod'
import type { Diagnostic, ObjectOrigin } from '../../diagnostics/diagnostic.ts'
import { byAge, type KubeObject, keyOf } from '../cluster/object.ts'
import { type Objects, objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import { configMap, referenceGrant, secret } from '../resources/cluster-objects.ts'
import { GATEWAY_API, type LabelSelector, selects } from '../resources/metadata.ts'

/** An object whose shape is known. */
export interface Read<T = unknown> {
  readonly object: KubeObject
  readonly value: T
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** `namespace/name` */
  readonly key: string
}

/** Who refers, or what is referred to. */
export interface Party {
  readonly group: string
  readonly kind: string
  readonly namespace: string
}

/** What messages call an object. */
export function titleOf({ kind, key }: Pick<Read, 'kind' | 'key'>): string {
  return `${kind} ${key}`
}

export function originOf(read: Pick<Read, 'kind' | 'key'>, field: string): ObjectOrigin {
  return { kind: 'object', object: titleOf(read), field }
}

/** A message about a field of an object. */
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

/** What schemas made of objects: most stay the same from one Snapshot to the next. */
const READ = new WeakMap<z.ZodType, WeakMap<KubeObject, Outcome>>()

type Outcome = { readonly read: Read } | { readonly diagnostics: readonly Diagnostic[] }

/** The objects of a Snapshot that count, as their schemas have them. */
export class ClusterView {
  readonly #snapshot: Snapshot
  readonly #report: (diagnostic: Diagnostic) => void
  readonly #visible: ReadonlySet<string> | undefined
  /** Manifests are a part of a cluster: what they refer to may be elsewhere in it. */
  readonly assumesMissing: boolean
  readonly #lists = new Map<string, readonly Read[]>()
  #grants: readonly Grant[] | undefined

  /** Of several selectors one must select the namespace; without any, all namespaces count. */
  constructor(
    snapshot: Snapshot,
    selectors: readonly LabelSelector[],
    report: (diagnostic: Diagnostic) => void,
    assumesMissing = false,
  ) {
    this.#snapshot = snapshot
    this.#report = report
    this.assumesMissing = assumesMissing
    if (selectors.length === 0) return
    const names = [...objectsOf(snapshot, 'Namespace').values()]
      .filter(({ metadata }) => selectors.some((one) => selects(one, metadata.labels)))
      .map(({ metadata }) => metadata.name)
    this.#visible = new Set(names)
  }

  /** All objects of a kind, the oldest first. One that cannot be read is reported, not listed. */
  all<S extends z.ZodType>(kind: string, schema: S): readonly Read<z.output<S>>[] {
    const known = this.#lists.get(kind)
    if (known !== undefined) return known as readonly Read<z.output<S>>[]
    const list = sortedByAge(objectsOf(this.#snapshot, kind)).flatMap((object) => {
      if (!this.#counts(object)) return []
      const outcome = read(object, kind, schema)
      if ('read' in outcome) return [outcome.read]
      for (const diagnostic of outcome.diagnostics) this.#report(diagnostic)
      return []
    })
    this.#lists.set(kind, list)
    return list as readonly Read<z.output<S>>[]
  }

  get<S extends z.ZodType>(
    kind: string,
    schema: S,
    where: string,
    name: string,
  ): Read<z.output<S>> | undefined {
    const object = objectsOf(this.#snapshot, kind).get(keyOf({ namespace: where, name }))
    if (object === undefined || !this.#counts(object)) return undefined
    const outcome = read(object, kind, schema)
    return 'read' in outcome ? (outcome.read as Read<z.output<S>>) : undefined
  }

  /** An object is not among the manifests, and taken to be in the cluster. */
  assume(kind: string, key: string): void {
    this.#report({
      code: 'PC0711',
      severity: 'info',
      message: `${kind} ${key} is not among the manifests, and assumed to exist`,
      origin: originOf({ kind, key }, ''),
    })
  }

  labelsOf(name: string): Readonly<Record<string, string>> {
    const { metadata } = objectsOf(this.#snapshot, 'Namespace').get(name) ?? {}
    // Every namespace has this label; a manifest of it need not say so.
    return { 'kubernetes.io/metadata.name': name, ...metadata?.labels }
  }

  /** Whether a reference may cross into another namespace: only a ReferenceGrant there allows it. */
  isGranted(from: Party, to: Party & { readonly name: string }): boolean {
    if (from.namespace === to.namespace) return true
    this.#grants ??= this.all('ReferenceGrant', referenceGrant).map(({ namespace, value }) => ({
      namespace,
      ...value.spec,
    }))
    return this.#grants.some(
      (grant) =>
        grant.namespace === to.namespace &&
        grant.from.some((one) => isSame(one, from) && one.namespace === from.namespace) &&
        grant.to.some((one) => isSame(one, to) && (one.name === undefined || one.name === to.name)),
    )
  }

  /** The entry of a Secret as text; undefined where there is none. */
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

  #counts({ metadata }: KubeObject): boolean {
    const { namespace: where } = metadata
    return where === undefined || this.#visible === undefined || this.#visible.has(where)
  }
}

/** Kinds without a change are the same map in the next Snapshot, and need not be sorted again. */
const SORTED = new WeakMap<Objects, readonly KubeObject[]>()

function sortedByAge(objects: Objects): readonly KubeObject[] {
  const known = SORTED.get(objects)
  if (known !== undefined) return known
  const sorted = [...objects.values()].sort(byAge)
  SORTED.set(objects, sorted)
  return sorted
}

interface Grant {
  readonly namespace: string
  readonly from: readonly Party[]
  readonly to: readonly {
    readonly group: string
    readonly kind: string
    readonly name?: string | undefined
  }[]
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
  const parsed = z.safeParse(schema, object)
  if (parsed.success) {
    return { read: { object, value: parsed.data, ...about, namespace: where, name } }
  }
  const diagnostics = parsed.error.issues.map((issue) =>
    complaint(about, fieldOf(issue.path), 'PC0701', wordsFor(issue)),
  )
  return { diagnostics }
}

/** `spec.rules[0].matches` */
export function fieldOf(path: readonly PropertyKey[]): string {
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
}

/** What zod found, in a few words. */
export function wordsFor(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    return `unknown field ${issue.keys.map((key) => `\`${key}\``).join(', ')}`
  }
  if (issue.code === 'invalid_type') {
    return issue.input === undefined && /undefined/.test(issue.message)
      ? 'this field is required'
      : `this must be of the type ${issue.expected}`
  }
  if (issue.code === 'invalid_value') {
    return `this must be one of ${issue.values.map((value) => `\`${String(value)}\``).join(', ')}`
  }
  if (issue.code === 'invalid_union') {
    const [inner] = issue.errors.flat()
    return inner === undefined ? 'this has the wrong form' : wordsFor(inner)
  }
  return issue.message
}

export function identityOf({ kind, namespace, name, object }: Read) {
  return { kind, namespace, name, generation: object.metadata.generation ?? 0 }
}

/** A Gateway by its key, as statuses refer to it. */
export function gatewayRef(key: string) {
  const [namespace = '', name = ''] = key.split('/')
  return { group: GATEWAY_API, kind: 'Gateway', namespace, name }
}
