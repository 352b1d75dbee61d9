import { dataUrlText, type EncodedText, encodedTextOf } from '../../encoded-text.ts'
import type { GuardedMessage } from './guard-rule.ts'
import { IDENTIFIERS, isKeyword, OPTIONS } from './unguarded-members.ts'

/*
 * Every string of a request is a text to guard, unless it is known not to be: what a member that
 * is new in an API contains is found, too.
 */

type MapText = (message: GuardedMessage) => string
type Fields = Readonly<Record<string, unknown>>

/** The members of a request in which a text changed. */
export function mapRequestTexts(body: Fields, map: MapText): Fields {
  const changed: Record<string, unknown> = {}
  let lists = 0
  const names = new Map<string, string>()
  const number = () => lists++
  for (const name of Object.keys(body)) {
    if (OPTIONS.has(name)) continue
    const walk = new Walk(map, number, names)
    const isSystem = SYSTEM.has(name)
    const value = walk.at(body[name], isSystem ? 'system' : 'user', isSystem)
    if (walk.isChanged) changed[name] = value
  }
  return changed
}

/** True if a text is given as the numbers of its tokens, which only the model can read. */
export function hasTokens(body: Fields): boolean {
  return ['input', 'prompt'].some((name) => {
    const given = Object.hasOwn(body, name) ? body[name] : undefined
    return Array.isArray(given) && given.some((one) => isNumber(Array.isArray(one) ? one[0] : one))
  })
}

/** Lists in these members contain the parts of one message. */
const PARTS = new Set(['content', 'parts', 'summary'])

const SYSTEM = new Set(['system', 'systemInstruction', 'system_instruction', 'instructions'])

/** Members of content whose objects are a tool's own: any name in them may be data. */
const FREE = new Set('input args arguments response json variables env attributes'.split(' '))
/** Members that contain base64. */
const DATA = new Set(['data', 'file_data', 'bytes'])
/** Shorter data is searched as it is written, too: an audio or an image is longer. */
const SHORT = 256
/** Numbers in the data of a tool that may be a card or a telephone number. */
const LONG_NUMBER = 100_000_000

/** Values without text keep their identity: a body may have a hundred thousand of them. */
class Walk {
  isChanged = false
  readonly #map: MapText
  readonly #number: () => number
  /** Names of members that are known: those of tools occur in each of their calls. */
  readonly #names: Map<string, string>

  /** `number` returns the number of the next message with parts. */
  constructor(map: MapText, number: () => number, names: Map<string, string>) {
    this.#names = names
    this.#map = map
    this.#number = number
  }

  /** `isParts`: a list here contains the parts of a message. */
  at(value: unknown, role: string, isParts = false, isFree = false): unknown {
    if (typeof value === 'string') return this.#text({ role, content: value })
    if (isNumber(value)) return isFree ? this.#numeral(value, role) : value
    if (Array.isArray(value)) {
      return this.#list(value, role, isParts && !isFree ? this.#number() : undefined, isFree)
    }
    return isFields(value) ? this.#object(value, role, isFree) : value
  }

  #list(
    list: readonly unknown[],
    role: string,
    message: number | undefined,
    isFree: boolean,
  ): unknown {
    let changed: unknown[] | undefined
    for (let index = 0; index < list.length; index++) {
      const given = list[index]
      const item =
        message === undefined
          ? this.at(given, role, false, isFree)
          : this.#part(given, role, message)
      if (item === given) continue
      changed ??= [...list]
      changed[index] = item
    }
    return changed ?? list
  }

  #part(part: unknown, role: string, message: number): unknown {
    if (typeof part === 'string') return this.#text({ role, content: part, message })
    return isFields(part) ? this.#object(part, role, false, message) : this.at(part, role)
  }

  /** `message`: the object is a part of it. */
  #object(object: Fields, role: string, isFree: boolean, message?: number): unknown {
    const { role: own = role } = object
    const spoken = typeof own === 'string' && !isFree ? own : role
    const names = Object.keys(object)
    let changed: Record<string, unknown> | undefined
    let renamed: Map<string, string> | undefined
    for (const name of names) {
      if (isFree || !MEMBER_NAME.test(name)) {
        const said = this.#name(name, spoken)
        if (said !== name) (renamed ??= new Map()).set(name, said)
      }
      const member = object[name]
      const mapped =
        typeof member === 'string'
          ? this.#string(object, name, member, spoken, isFree, message)
          : this.at(member, spoken, PARTS.has(name), isFree || FREE.has(name))
      if (mapped === member) continue
      changed ??= { ...object }
      Object.defineProperty(changed, name, { ...MEMBER, value: mapped })
    }
    if (renamed !== undefined) return withNames(changed ?? object, renamed)
    return changed ?? object
  }

  #name(name: string, role: string): string {
    const known = this.#names.get(name)
    const said = known ?? this.#text({ role, content: name, isName: true })
    if (known === undefined) this.#names.set(name, said)
    this.isChanged ||= said !== name
    return said
  }

  #string(
    object: Fields,
    name: string,
    value: string,
    role: string,
    isFree: boolean,
    message: number | undefined,
  ): string {
    if (DATA.has(name) && object['type'] !== 'text') {
      const type = object['media_type'] ?? object['mimeType'] ?? object['mime_type']
      return this.#data(value, encodedTextOf(value, typeof type === 'string' ? type : ''), role)
    }
    if (isFree) return this.#text({ role, content: value })
    if (IDENTIFIERS.has(name) && VISIBLE_ASCII.test(value)) return value
    if (isKeyword(name, value)) return value
    return this.#text(
      name === 'text' ? { role, content: value, message } : { role, content: value },
    )
  }

  #data(value: string, encoded: EncodedText | 'binary' | undefined, role: string): string {
    if (encoded === undefined) return this.#text({ role, content: value })
    if (encoded === 'binary') {
      return value.length < SHORT ? this.#mapped({ role, content: value }) : value
    }
    const text = this.#mapped({ role, content: encoded.text })
    return text === encoded.text ? value : encoded.encode(text)
  }

  #numeral(value: number | bigint | object, role: string): unknown {
    const content = typeof value === 'object' ? JSON.stringify(value) : String(value)
    if (Math.abs(Number(content)) < LONG_NUMBER) return value
    const mapped = this.#mapped({ role, content })
    return mapped === content ? value : mapped
  }

  #text(message: GuardedMessage): string {
    const { role, content } = message
    const encoded = dataUrlText(content)
    if (encoded === 'binary') return content
    return encoded === undefined ? this.#mapped(message) : this.#data(content, encoded, role)
  }

  #mapped(message: GuardedMessage): string {
    const mapped = this.#map(message)
    this.isChanged ||= mapped !== message.content
    return mapped
  }
}

/** Names of members in the APIs; any other may be what a client wants to say. */
const MEMBER_NAME = /^[a-z][a-zA-Z0-9_]{0,47}$/
const VISIBLE_ASCII = /^[!-~]*$/

/** For members with any name, `__proto__` included. */
const MEMBER = { configurable: true, enumerable: true, writable: true } as const

/** No member gets lost, even if several are masked alike. */
function withNames(object: Fields, renamed: ReadonlyMap<string, string>): Fields {
  const out: Record<string, unknown> = {}
  for (const name of Object.keys(object)) {
    const wanted = renamed.get(name) ?? name
    let own = wanted
    for (let count = 2; Object.hasOwn(out, own) || (own !== name && Object.hasOwn(object, own)); ) {
      own = `${wanted} ${count++}`
    }
    Object.defineProperty(out, own, { ...MEMBER, value: object[name] })
  }
  return out
}

/** Numbers that keep their spelling are objects, too. */
function isNumber(value: unknown): value is number | bigint | object {
  if (typeof value === 'number' || typeof value === 'bigint') return true
  const { isRawJSON } = JSON as unknown as { isRawJSON: (value: unknown) => boolean }
  return typeof value === 'object' && value !== null && isRawJSON(value)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isNumber(value)
}
