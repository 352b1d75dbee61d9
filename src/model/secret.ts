/**
 * A key, password or token that something in a Model uses. The Model names the secret and its
 * version; the value is never part of the Model, so that no dump, comparison or log of a Model can
 * show it.
 */
export interface SecretRef {
  /** The name of the secret: the path of a file, `Secret namespace/name`, or `inline`. */
  readonly secretRef: string
  /** A digest of the value: another value is another version. Empty if the value is unknown. */
  readonly version: string
}

/** Values by version: sent alongside a Model when it leaves the process that read it. */
export type Secrets = ReadonlyMap<string, string>

/**
 * Keyed by the reference itself and not by its content: a copy of a Model, such as one for a dump,
 * has no secrets, and values are released with the last Model that uses them.
 */
const texts = new WeakMap<SecretRef, string>()

/** Binds a value to the reference, and returns the reference. */
export function bindSecret(ref: SecretRef, text: string): SecretRef {
  texts.set(ref, text)
  return ref
}

/** Undefined if it was not sent with the Model; anything that needs it must fail closed. */
export function secretText(ref: SecretRef): string | undefined {
  return texts.get(ref)
}

export function isSecretRef(value: object): value is SecretRef {
  return 'secretRef' in value && 'version' in value
}

/** The secrets that a Model, or a part of one, uses. */
export function secretsIn(value: object | undefined): Secrets {
  const found = new Map<string, string>()
  for (const thing of thingsOf(value)) {
    for (const ref of refsIn(thing)) {
      const text = texts.get(ref)
      if (text !== undefined) found.set(ref.version, text)
    }
  }
  return found
}

/**
 * Binds the secrets of a Model from another process, in small steps; returns the references without
 * a value.
 */
export function* resolveSecrets(
  model: object,
  secrets: Secrets,
): Generator<void, readonly SecretRef[]> {
  const missing: SecretRef[] = []
  for (const thing of thingsOf(model)) {
    for (const ref of refsIn(thing)) {
      const text = texts.get(ref) ?? secrets.get(ref.version)
      if (text === undefined) missing.push(ref)
      else texts.set(ref, text)
    }
    yield
  }
  return missing
}

/** Named things, one by one: consecutive Models share them. */
function* thingsOf(value: object | undefined): Generator<object> {
  for (const section of Object.values(value ?? {})) {
    if (Array.isArray(section)) yield* section
    else if (typeof section === 'object' && section !== null) yield section
  }
}

const known = new WeakMap<object, readonly SecretRef[]>()
const NO_REFS: readonly SecretRef[] = []

/** The references in one thing; cached. */
export function refsIn(thing: object): readonly SecretRef[] {
  const before = known.get(thing)
  if (before !== undefined) return before
  const found: SecretRef[] = []
  collect(thing, found)
  const refs = found.length === 0 ? NO_REFS : found
  known.set(thing, refs)
  return refs
}

function collect(value: object, found: SecretRef[]): void {
  if (isSecretRef(value)) {
    found.push(value)
    return
  }
  for (const key in value) {
    const member: unknown = value[key as keyof typeof value]
    if (typeof member === 'object' && member !== null) collect(member, found)
  }
}
