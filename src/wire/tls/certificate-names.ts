import { X509Certificate } from 'node:crypto'

/** The DNS names that a certificate is for, in lower case; `*.` at the front of some. */
export function certificateNames(pem: string): readonly string[] {
  const { subjectAltName, subject } = new X509Certificate(pem)
  const names = (subjectAltName ?? '').split(', ').flatMap((name) => match(/^DNS:(.+)$/, name))
  // RFC 6125 §6.4.4: the common name counts where there is no other.
  return names.length > 0 ? names : subject.split('\n').flatMap((line) => match(/^CN=(.+)$/, line))
}

function match(pattern: RegExp, text: string): readonly string[] {
  const found = pattern.exec(text)?.[1]
  return found === undefined ? [] : [found.toLowerCase()]
}

/** Which of several things a server name means: by its whole name, else by its wildcard. */
export class NameTable<T> {
  readonly #byName = new Map<string, T>()

  /** Of two with the same name the first holds. */
  add(names: readonly string[], value: T): void {
    for (const name of names) if (!this.#byName.has(name)) this.#byName.set(name, value)
  }

  /** A wildcard stands for one label: RFC 6125 §6.4.3. */
  find(name: string): T | undefined {
    const exact = this.#byName.get(name)
    if (exact !== undefined) return exact
    const dot = name.indexOf('.')
    return dot === -1 ? undefined : this.#byName.get(`*${name.slice(dot)}`)
  }
}
