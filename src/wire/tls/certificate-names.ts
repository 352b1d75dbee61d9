import { X509Certificate } from 'node:crypto'

/** The DNS names of a certificate, in lower case; some begin with `*.`. */
export function certificateNames(pem: string): readonly string[] {
  const { subjectAltName, subject } = new X509Certificate(pem)
  const names = (subjectAltName ?? '').split(', ').flatMap((name) => match(/^DNS:(.+)$/, name))
  // RFC 6125 §6.4.4: the common name counts only if there is no other name.
  return names.length > 0 ? names : subject.split('\n').flatMap((line) => match(/^CN=(.+)$/, line))
}

function match(pattern: RegExp, text: string): readonly string[] {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? [] : [found.toLowerCase()]
}

/** Maps server names to values: by the exact name, or else by a wildcard. */
export class NameTable<T> {
  readonly #byName = new Map<string, T>()

  /** Of two values with the same name, the first wins. */
  add(names: readonly string[], value: T): void {
    for (const name of names) if (!this.#byName.has(name)) this.#byName.set(name, value)
  }

  /** A wildcard matches one label: RFC 6125 §6.4.3. */
  find(name: string): T | undefined {
    const exact = this.#byName.get(name)
    if (exact !== undefined) return exact
    const dot = name.indexOf('.')
    return dot === -1 ? undefined : this.#byName.get(`*${name.slice(dot)}`)
  }
}
