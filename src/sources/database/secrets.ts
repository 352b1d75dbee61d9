import { createHmac, randomBytes } from 'node:crypto'
import type { JsonObject, JsonValue } from '../../model/json.ts'
import { HIDDEN, isCredentialName } from '../../model/redact.ts'
import { findAnnotated } from '../../policies/schema.ts'
import { type ResourceKind, schemaOf } from './resource-kinds.ts'
import { isObject } from './resources.ts'
import type { Sealing } from './sealing.ts'

type Path = readonly PropertyKey[]

/** The key of the object that replaces a secret in the database. */
const SEALED = '$sealed'
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/
const USER_INFO = /:\/\/[^\s/@:]*:[^\s/@]+@/

/**
 * The paths of secret strings in a value: those marked in the schema and, since an invalid value
 * may also be shown, those that look like secrets by name or content.
 */
function secretPaths(kind: ResourceKind, value: JsonValue): readonly Path[] {
  const found = new Map<string, Path>()
  /** What the schema says is something else, whatever its key is called: the `key` of a budget. */
  const others = new Set<string>()
  const add = (path: Path) => found.set(JSON.stringify(path), path)
  for (const { annotation, path, value: inner } of findAnnotated(schemaOf(kind), value)) {
    const isSecret = annotation.is === 'secret' || annotation.is === 'credential'
    if (!isSecret) others.add(JSON.stringify(path))
    else if (typeof inner === 'string') add(path)
  }
  visit(value, [], false)
  return [...found.values()]

  function visit(member: JsonValue | undefined, path: Path, isNamed: boolean): void {
    if (typeof member === 'string') {
      const isByName = isNamed && !others.has(JSON.stringify(path))
      if (isByName || PRIVATE_KEY.test(member) || USER_INFO.test(member)) add(path)
    } else if (Array.isArray(member)) {
      for (const [index, item] of member.entries()) visit(item, [...path, index], isNamed)
    } else if (isObject(member)) {
      const { name } = member
      const isPair = typeof name === 'string' && isCredentialName(name)
      for (const [key, inner] of Object.entries(member)) {
        visit(inner, [...path, key], SECRET_KEY.test(key) || (isPair && key === 'value'))
      }
    }
  }
}

/** Keys whose string values are secrets; `file` names a secret but is not one itself. */
const SECRET_KEY =
  /^(?:api[-_]?key|key|keys|passw(?:or)?d|secret|token|htpasswd|credentials?|authorization|proxy-authorization|cookie|x-api-key|client[-_]?secret|secretAccessKey|sessionToken)$/i

/** Replaces every secret in the value. */
function withSecrets(
  value: JsonValue,
  paths: readonly Path[],
  replace: (secret: string) => JsonValue,
): JsonValue {
  if (paths.length === 0) return value
  const copy = structuredClone(value) as JsonValue
  for (const path of paths) {
    const parent = path.slice(0, -1).reduce<unknown>((at, step) => (at as never)[step], copy)
    const last = path.at(-1) as PropertyKey
    if (parent === undefined || path.length === 0) continue
    const holder = parent as Record<PropertyKey, JsonValue>
    const secret = holder[last]
    if (typeof secret === 'string') holder[last] = replace(secret)
  }
  return copy
}

export function sealValue(
  kind: ResourceKind,
  value: JsonValue,
  context: string,
  sealing: Sealing | undefined,
): JsonValue | 'no-key' {
  const paths = secretPaths(kind, value)
  if (paths.length === 0) return value
  if (sealing === undefined) return 'no-key'
  return withSecrets(value, paths, (secret) => ({ [SEALED]: sealing.seal(secret, context) }))
}

/** Thrown if a stored secret cannot be decrypted: the resource cannot be served. */
export class SealedError extends Error {}

export function openValue(
  value: JsonValue,
  context: string,
  sealing: Sealing | undefined,
): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    let items: JsonValue[] | undefined
    for (let i = 0; i < value.length; i++) {
      const own = openValue(value[i], context, sealing)
      if (own !== value[i]) (items ??= [...value])[i] = own
    }
    return items ?? value
  }
  const object = value as JsonObject
  const { [SEALED]: sealed } = object
  if (typeof sealed === 'string') {
    const opened = sealing?.open(sealed, context)
    if (opened === undefined) throw new SealedError(`a secret in ${context} cannot be decrypted`)
    return opened
  }
  // Almost all values have no secret, and there may be thousands: these are not copied.
  let opened: [string, JsonValue][] | undefined
  const keys = Object.keys(object)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as string
    const member = object[key] ?? null
    const own = openValue(member, context, sealing)
    if (own === member) continue
    opened ??= Object.entries(object) as [string, JsonValue][]
    opened[i] = [key, own]
  }
  return opened === undefined ? object : Object.fromEntries(opened)
}

/** Whether a stored value has a secret that an older key encrypted. */
export function isOutdated(value: JsonValue, sealing: Sealing): boolean {
  if (Array.isArray(value)) return value.some((item) => isOutdated(item, sealing))
  if (!isObject(value)) return false
  const { [SEALED]: sealed } = value
  if (typeof sealed === 'string') return sealing.isOutdated(sealed)
  return Object.values(value).some((member) => isOutdated(member ?? null, sealing))
}

/**
 * Shows values with their secrets replaced by opaque references, and restores them: a client that
 * edits other fields can leave a reference as it is.
 */
export class SecretReferences {
  readonly #key: Buffer

  /** `key`: shared by replicas of one database; otherwise references are valid for one process. */
  constructor(key: Buffer = randomBytes(32)) {
    this.#key = key
  }

  hide(kind: ResourceKind, value: JsonValue): JsonValue {
    return withSecrets(value, secretPaths(kind, value), (secret) => this.#referenceTo(secret))
  }

  /** Undefined if a reference does not match a current secret of the resource. */
  restore(value: JsonValue, kind: ResourceKind, now: readonly JsonValue[]): JsonValue | undefined {
    const known = new Map<string, string>()
    for (const one of now) {
      withSecrets(one, secretPaths(kind, one), (secret) => {
        known.set(this.#referenceTo(secret), secret)
        return secret
      })
    }
    let isKnown = true
    const restored = visit(value)
    return isKnown ? restored : undefined

    function visit(member: JsonValue): JsonValue {
      if (typeof member === 'string' && REFERENCE.test(member)) {
        const secret = known.get(member)
        isKnown &&= secret !== undefined
        return secret ?? member
      }
      if (Array.isArray(member)) return member.map(visit)
      if (!isObject(member)) return member
      const entries = Object.entries(member).map(([key, inner]) => [key, visit(inner ?? null)])
      return Object.fromEntries(entries)
    }
  }

  #referenceTo(secret: string): string {
    const digest = createHmac('sha256', this.#key).update(secret).digest('hex').slice(0, 32)
    return `${HIDDEN.slice(0, -1)} ${digest})`
  }
}

const REFERENCE = /^\(secret(?: [0-9a-f]{32})?\)$/
