/*
 * Edits a JSON text and leaves the rest as written: unknown fields, the order of members and the
 * spelling of numbers survive. The text must be valid JSON.
 */

export type JsonPath = readonly (string | number)[]

/** What to do with a value: enter it, keep it, drop it, or replace it with another text. */
export type JsonVisit = 'enter' | 'keep' | 'drop' | { readonly text: string }

/**
 * Called for every value that is not inside a kept one. `raw` returns its text, which takes a walk
 * over all of it; `first` is its first character, enough to distinguish strings and containers. The
 * path is valid only until the visitor returns.
 */
export type JsonVisitor = (path: JsonPath, raw: () => string, first: string) => JsonVisit

export function editJson(text: string, visit: JsonVisitor): string {
  const start = skipSpace(text, 0)
  const edited = new Editor(text, visit).value(start)
  return edited.text === undefined ? text : edited.text
}

/** Returns the members of the object `text`, or the elements of the array, each as written. */
export function jsonMembers(text: string): ReadonlyMap<string | number, string> {
  const members = new Map<string | number, string>()
  editJson(text, (path, raw) => {
    if (path.length === 0) return 'enter'
    members.set(path[0] as string | number, raw())
    return 'keep'
  })
  return members
}

/** Returns the members of the object `text` with this name, each as written, if it is an object. */
export function membersNamed(text: string, name: string): readonly string[] {
  const found: string[] = []
  const plain = `"${name}"`
  let at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== 123) return found
  at = skipSpace(text, at + 1)
  while (text.charCodeAt(at) === 34) {
    const nameEnd = skipString(text, at)
    const isNamed = isWritten(text, at, nameEnd, plain, name)
    const start = skipSpace(text, skipSpace(text, nameEnd) + 1)
    const end = skipValue(text, start)
    if (isNamed) found.push(text.slice(start, end))
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === 44) at = skipSpace(text, at + 1)
  }
  return found
}

/** A name may be written with escapes. */
function isWritten(text: string, start: number, end: number, plain: string, name: string): boolean {
  if (end - start === plain.length) return text.startsWith(plain, start)
  if (end - start < plain.length) return false
  const written = text.slice(start, end)
  return written.includes('\\') && JSON.parse(written) === name
}

interface Edited {
  readonly end: number
  /** Undefined if unchanged; null if dropped. */
  readonly text: string | null | undefined
}

class Editor {
  readonly #text: string
  readonly #visit: JsonVisitor
  /** The path of the current value: one shared array, since a deep value has many below it. */
  readonly #path: (string | number)[] = []

  constructor(text: string, visit: JsonVisitor) {
    this.#text = text
    this.#visit = visit
  }

  value(start: number): { end: number; text: string | undefined } {
    const { end, text } = this.#value(start)
    return { end, text: text ?? undefined }
  }

  #value(start: number): Edited {
    const text = this.#text
    const opening = text[start] ?? ''
    // Finding the end takes a walk over the value, which may be nearly all of the text.
    let known = -1
    const end = () => {
      if (known < 0) known = skipValue(text, start)
      return known
    }
    const visit = this.#visit(this.#path, () => text.slice(start, end()), opening)
    if (visit === 'drop') return { end: end(), text: null }
    if (typeof visit === 'object') return { end: end(), text: visit.text }
    if (visit === 'keep' || (opening !== '{' && opening !== '[')) {
      return { end: end(), text: undefined }
    }
    return this.#container(start, opening === '{')
  }

  /** Returns the container as written unless something in it changes; omits dropped values. */
  #container(start: number, isObject: boolean): Edited {
    const text = this.#text
    const parts: string[] = []
    let isChanged = false
    let at = skipSpace(text, start + 1)
    for (let index = 0; text[at] !== '}' && text[at] !== ']'; index++) {
      let key: string | number = index
      let name = ''
      if (isObject) {
        const nameEnd = skipString(text, at)
        name = text.slice(at, nameEnd)
        key = JSON.parse(name) as string
        at = skipSpace(text, skipSpace(text, nameEnd) + 1)
      }
      this.#path.push(key)
      const { end, text: edited } = this.#value(at)
      this.#path.pop()
      if (edited !== undefined) isChanged = true
      if (edited !== null) {
        const own = edited ?? text.slice(at, end)
        parts.push(isObject ? `${name}:${own}` : own)
      }
      at = skipSpace(text, end)
      if (text[at] === ',') at = skipSpace(text, at + 1)
    }
    if (!isChanged) return { end: at + 1, text: undefined }
    return { end: at + 1, text: isObject ? `{${parts.join(',')}}` : `[${parts.join(',')}]` }
  }
}

export function skipSpace(text: string, start: number): number {
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at
    at++
  }
}

/** Most strings are short: calling V8's search for each takes longer than reading them. */
const SHORT = 24

export function skipString(text: string, start: number): number {
  let at = start + 1
  for (const limit = at + SHORT; at < limit; at++) {
    const code = text.charCodeAt(at)
    if (code === 34) return at + 1
    if (code === 92) at++
  }
  for (;;) {
    const end = text.indexOf('"', at)
    if (end < 0) return text.length
    let slashes = 0
    while (text.charCodeAt(end - 1 - slashes) === 92) slashes++
    if (slashes % 2 === 0) return end + 1
    at = end + 1
  }
}

export function skipValue(text: string, start: number): number {
  const opening = text[start]
  if (opening === '"') return skipString(text, start)
  let at = start
  let depth = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 34) at = skipString(text, at) - 1
    else if (code === 123 || code === 91) depth++
    else if (code === 125 || code === 93) {
      if (depth === 0) return at
      depth--
      if (depth === 0) return at + 1
    } else if (depth === 0 && (code === 44 || code <= 32)) return at
    at++
  }
  return at
}
