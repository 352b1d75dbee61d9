import { BODY_LIMITS } from '../http1/chunked.ts'
import { isFieldText } from '../http1/field-lines.ts'
import { HIDDEN } from '../http1/field-names.ts'
import { type Fields, fieldName, fieldValue } from '../http1/fields.ts'
import { isToken } from '../http1/message.ts'
import { refuse } from '../http1/rejections.ts'
import { trailersIn } from './trailers.ts'

/** Names and values in turn, as they go on the wire. */
export type HeaderList = string[]

/** A list as an object, for the calls of node:http2 that take no list. */
export function headerObject(list: HeaderList): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i < list.length; i += 2) {
    const name = list[i] as string
    const value = list[i + 1] as string
    const before = object[name]
    if (before === undefined) object[name] = value
    else if (typeof before === 'string') object[name] = [before, value]
    else before.push(value)
  }
  return object
}

export function trailerHeaders(trailers: Fields): HeaderList {
  const list: HeaderList = []
  for (let i = 0; i < trailers.count; i++) {
    if (trailers.kinds[i] === HIDDEN) continue
    list.push(fieldName(trailers, i).toLowerCase(), fieldValue(trailers, i))
  }
  return list
}

/** A trailer section as HTTP/1.1 reads it, its forbidden fields hidden; or a refusal. */
export function readHttp2Trailers(raw: readonly string[]): Fields | number {
  const text = renderFields(raw, 0)
  if (typeof text === 'number') return text
  if (text.length + 2 > BODY_LIMITS.trailers) return refuse('trailers-too-large')
  const bytes = Buffer.from(`${text}\r\n`, 'latin1')
  return trailersIn(bytes, bytes.length)
}

/** The fields from `from` on as lines of HTTP/1.1, or a refusal for what cannot be one. */
export function renderFields(raw: readonly string[], from: number): string | number {
  let text = ''
  for (let i = from; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    if (!isToken(name) || /[A-Z]/.test(name)) return refuse('bad-header-name')
    if (!isFieldText(value)) return refuseValue(value)
    text += `${name}: ${value}\r\n`
  }
  return text
}

/** The words that HTTP/1.1 has for the same bytes. */
function refuseValue(value: string): number {
  if (value.includes('\0')) return refuse('nul')
  if (value.includes('\n')) return refuse('bare-lf')
  return refuse(value.includes('\r') ? 'bare-cr' : 'bad-header-value')
}
