import type { ClientHello } from '../../src/wire/tls/client-hello.ts'

type PlainOutcome = 'more' | 'not-tls' | 'malformed' | ClientHello

/**
 * The reference implementation of HelloReader: takes all bytes at once, as a string, and throws
 * exceptions.
 */
export function plainHello(bytes: Buffer): PlainOutcome {
  try {
    const text = messageOf(bytes.toString('latin1'))
    return helloOf(new Cursor(text))
  } catch (outcome) {
    if (typeof outcome === 'string') return outcome as 'more'
    throw outcome
  }
}

function messageOf(wire: string): string {
  let message = ''
  let rest = wire
  for (;;) {
    const otherwise = message === '' ? 'not-tls' : 'malformed'
    if (rest === '') throw 'more'
    if (rest[0] !== '\x16' || (rest.length > 1 && rest[1] !== '\x03')) throw otherwise
    if (rest.length < 5) throw 'more'
    const length = number(rest.slice(3, 5))
    if (length === 0 || length > 16_384) throw 'malformed'
    const fragment = rest.slice(5, 5 + length)
    message += fragment
    rest = rest.slice(5 + length)
    if (fragment !== '' && message[0] !== '\x01') throw 'not-tls'
    if (message.length >= 4) {
      const wanted = 4 + number(message.slice(1, 4))
      if (wanted > 16_384) throw 'malformed'
      if (message.length >= wanted) return message.slice(4, wanted)
    }
    if (fragment.length < length) throw 'more'
    if (wire.length - rest.length > 65_536) throw 'malformed'
  }
}

function helloOf(cursor: Cursor): ClientHello {
  const version = number(cursor.take(2))
  cursor.take(32)
  const session = cursor.vector(1)
  const suites = cursor.vector(2)
  const compressions = cursor.vector(1)
  if (session.length > 32 || version < 0x300 || version > 0x3ff) throw 'malformed'
  if (suites === '' || suites.length % 2 === 1 || compressions === '') throw 'malformed'
  if (cursor.text === '') return { serverName: undefined, alpn: [], versions: [version] }
  const list = new Cursor(cursor.vector(2))
  if (cursor.text !== '') throw 'malformed'
  const extensions = new Map<number, string>()
  while (list.text !== '') {
    const kind = number(list.take(2))
    if (extensions.has(kind)) throw 'malformed'
    extensions.set(kind, list.vector(2))
  }
  return {
    serverName: mapped(extensions.get(0), nameOf),
    alpn: mapped(extensions.get(16), (value) => all(value, 2, (own) => own.vector(1))) ?? [],
    versions: mapped(extensions.get(43), (value) => all(value, 1, (own) => own.take(2)))?.map(
      number,
    ) ?? [version],
  }
}

function nameOf(value: string): string {
  const names = all(value, 2, (own) => own.take(1) + own.vector(2))
  const name = names[0]?.slice(1).replace(/\.$/, '') ?? ''
  const isName = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(name)
  if (names.length !== 1 || names[0]?.[0] !== '\0' || !isName) throw 'malformed'
  if ((names[0]?.length ?? 0) > 256) throw 'malformed'
  return name.toLowerCase()
}

/**
 * The elements of a list that fills its extension. The list has at least one element, and no
 * element is empty.
 */
function all(value: string, size: number, take: (cursor: Cursor) => string): string[] {
  const outer = new Cursor(value)
  const list = new Cursor(outer.vector(size))
  if (outer.text !== '') throw 'malformed'
  const elements: string[] = []
  while (list.text !== '') elements.push(take(list))
  if (elements.length === 0 || elements.includes('')) throw 'malformed'
  return elements
}

class Cursor {
  text: string
  constructor(text: string) {
    this.text = text
  }

  take(length: number): string {
    if (length > this.text.length) throw 'malformed'
    const taken = this.text.slice(0, length)
    this.text = this.text.slice(length)
    return taken
  }

  vector(size: number): string {
    return this.take(number(this.take(size)))
  }
}

function mapped<T>(value: string | undefined, map: (value: string) => T): T | undefined {
  return value === undefined ? undefined : map(value)
}

function number(text: string): number {
  return [...text].reduce((sum, byte) => sum * 256 + byte.charCodeAt(0), 0)
}
