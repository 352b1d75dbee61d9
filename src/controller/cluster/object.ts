/** An object of the cluster as returned by the API server: `spec` is not validated yet. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
  readonly spec?: unknown
  readonly status?: unknown
  readonly [member: string]: unknown
}

export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Labels
  readonly annotations?: Labels
}

export type Labels = Readonly<Record<string, string>>

/** `namespace/name`; for an object without a namespace, its name. */
export function keyOf({ namespace, name }: Pick<ObjectMeta, 'namespace' | 'name'>): string {
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`
}

/** Oldest first; objects of the same age by namespace and name. The order of the Gateway API. */
export function byAge(a: KubeObject, b: KubeObject): number {
  const [first, second] = [timeOf(a), timeOf(b)]
  if (first !== second) return first < second ? -1 : 1
  const [one, other] = [keyOf(a.metadata), keyOf(b.metadata)]
  return one < other ? -1 : one > other ? 1 : 0
}

/** A manifest that never reached an API server is the youngest. */
function timeOf(object: KubeObject): number {
  const known = TIMES.get(object)
  if (known !== undefined) return known
  const parsed = Date.parse(object.metadata.creationTimestamp ?? '')
  const time = Number.isNaN(parsed) ? Number.POSITIVE_INFINITY : parsed
  TIMES.set(object, time)
  return time
}

/** Sorting compares each object many times. */
const TIMES = new WeakMap<KubeObject, number>()
