import type { JsonObject, JsonValue } from '../../model/json.ts'

/**
 * Lists of Kubernetes objects whose items merge by name, and the key of each field. All other lists
 * are replaced. A field has the same key everywhere, except for `ports`.
 */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: 'name',
  initContainers: 'name',
  ephemeralContainers: 'name',
  env: 'name',
  volumes: 'name',
  volumeMounts: 'mountPath',
  volumeDevices: 'devicePath',
  imagePullSecrets: 'name',
  secrets: 'name',
  hostAliases: 'ip',
  topologySpreadConstraints: 'topologyKey',
  resourceClaims: 'name',
}

/** Lists of plain values that merge as sets. */
const MERGED_VALUES: ReadonlySet<string> = new Set(['finalizers'])

/** The directive that lists the only fields to keep, for fields that exclude each other. */
const RETAIN_KEYS = '$retainKeys'
const PATCH = '$patch'
const DELETED_VALUES = '$deleteFromPrimitiveList/'
const ORDER = '$setElementOrder/'

/**
 * Applies a strategic merge patch like `kubectl patch`: objects merge, null removes a field, lists
 * of named items merge by name, and `$patch: delete` and `$patch: replace` are supported.
 */
export function strategicMerge(base: JsonObject, patch: JsonObject): JsonObject {
  const { [PATCH]: directive, ...rest } = patch
  if (directive === 'replace') return withoutDirectives(rest)
  if (directive === 'delete') return {}
  const merged: Record<string, JsonValue | undefined> = { ...base }
  const retained = patch[RETAIN_KEYS]
  if (Array.isArray(retained)) {
    for (const key of Object.keys(merged)) if (!retained.includes(key)) delete merged[key]
  }
  for (const [key, value] of Object.entries(rest)) {
    if (key === RETAIN_KEYS || key.startsWith(ORDER)) continue
    if (key.startsWith(DELETED_VALUES)) {
      const field = key.slice(DELETED_VALUES.length)
      const kept = merged[field]
      if (Array.isArray(kept) && Array.isArray(value)) {
        merged[field] = kept.filter((item) => !value.includes(item))
      }
    } else if (value === null) delete merged[key]
    else if (value !== undefined) merged[key] = mergeValue(key, merged[key], value)
  }
  return merged
}

function mergeValue(key: string, base: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (Array.isArray(patch)) return mergeList(key, Array.isArray(base) ? base : [], patch)
  if (!isObject(patch)) return patch
  return strategicMerge(isObject(base) ? base : {}, patch)
}

function mergeList(
  key: string,
  base: readonly JsonValue[],
  patch: readonly JsonValue[],
): readonly JsonValue[] {
  if (MERGED_VALUES.has(key)) return [...new Set([...base, ...patch])]
  const by = keyOfItems(key, [...base, ...patch])
  const isReplaced = patch.some((item) => isObject(item) && item[PATCH] === 'replace')
  if (by === undefined || isReplaced) {
    const items = patch.filter((item) => !(isObject(item) && PATCH in item))
    return items.map((item) => (isObject(item) ? withoutDirectives(item) : item))
  }
  const merged = [...base]
  for (const item of patch) {
    if (!isObject(item)) continue
    const at = merged.findIndex((known) => isObject(known) && known[by] === item[by])
    if (item[PATCH] === 'delete') {
      if (at >= 0) merged.splice(at, 1)
    } else if (at < 0) merged.push(withoutDirectives(item))
    else merged[at] = strategicMerge(merged[at] as JsonObject, item)
  }
  return merged
}

/** `ports` of a container merge by containerPort, those of a Service by port. */
function keyOfItems(key: string, items: readonly JsonValue[]): string | undefined {
  if (key !== 'ports') return MERGE_KEYS[key]
  return items.some((item) => isObject(item) && 'containerPort' in item) ? 'containerPort' : 'port'
}

/** New values have nothing to merge with; merge directives are removed from them. */
function withoutDirectives(value: JsonObject): JsonObject {
  return strategicMerge({}, Object.fromEntries(Object.entries(value).filter(([k]) => k !== PATCH)))
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
