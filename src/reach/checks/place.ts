import type { Diagnostic, Origin, Severity } from '../../diagnostics/diagnostic.ts'

/** A Diagnostic without its place. */
export interface Message {
  readonly code: string
  /** `error` by default. */
  readonly severity?: Severity
  readonly message: string
  readonly hint?: string | undefined
}

export type Field = readonly PropertyKey[]

/** Where something was written: in a file, in a row, or in an object of a cluster. */
export interface Place {
  readonly origin: Origin
  /** The first of these fields below it that was written, or the place itself if none was. */
  find(...fields: readonly Field[]): Place
  /** A message about the value at this place, or about its key. */
  diagnose(message: Message, part?: 'key' | 'value'): Diagnostic
}

/** A field of an object that has a name: a row, or a Kubernetes object. */
export class ObjectPlace implements Place {
  readonly origin: Origin
  readonly #object: string
  readonly #field: string
  readonly #value: unknown

  /** `value` is what is at the place; without it, every field counts as written. */
  constructor(object: string, field = '', value?: unknown) {
    this.origin = { kind: 'object', object, field }
    this.#object = object
    this.#field = field
    this.#value = value
  }

  find(...fields: readonly Field[]): Place {
    for (const steps of fields) {
      const value = this.#value === undefined ? undefined : valueAt(this.#value, steps)
      if (this.#value !== undefined && value === undefined) continue
      return new ObjectPlace(this.#object, steps.reduce(joined, this.#field), value)
    }
    return this
  }

  diagnose({ code, severity = 'error', message, hint }: Message): Diagnostic {
    const said = { code, severity, message, origin: this.origin }
    return hint === undefined ? said : { ...said, hint }
  }
}

function joined(field: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${field}[${step}]`
  return field === '' ? String(step) : `${field}.${String(step)}`
}

function valueAt(value: unknown, steps: Field): unknown {
  let found = value
  for (const step of steps) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Readonly<Record<PropertyKey, unknown>>)[step]
  }
  return found
}
