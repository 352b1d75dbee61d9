import { BODY_LIMITS } from '../http1/chunked.ts'
import { type FieldLines, isFieldText, isOfSet, type NameSet } from '../http1/field-lines.ts'
import { DATE, HIDDEN, isForbiddenTrailer, TRAILER } from '../http1/field-names.ts'
import { beginFields, Fields, fieldName, fieldValue, firstOf, readFields } from '../http1/fields.ts'
import { isToken } from '../http1/message.ts'
import { unpadded } from '../http1/padding.ts'
import { refuse } from '../http1/refusals.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import { dateLine } from '../http1/write.ts'
import { refuseValue } from './request-head.ts'

/** Names and values in turn, as they go on the wire. */
export type HeaderList = string[]

/** A received answer as HTTP/2 writes it: all in lower case, nothing of its old connection. */
export function responseHeaders(
  head: ResponseHead,
  dropped: NameSet,
  lines: FieldLines,
): HeaderList {
  const { fields, status } = head
  const isOpenEnded = head.framing === 'chunked' || head.framing === 'close'
  const list: HeaderList = [':status', String(status)]
  for (let i = 0; i < fields.count; i++) {
    const kind = fields.kinds[i] as number
    if (kind >= HIDDEN || (kind === TRAILER && !isOpenEnded)) continue
    if (isOfSet(dropped, fields, i)) continue
    list.push(fieldName(fields, i).toLowerCase(), fieldValue(fields, i))
  }
  if (status >= 200) {
    if (firstOf(fields, DATE) < 0) addLines(list, dateLine(Date.now()))
    // RFC 9110 §8.6: neither an interim answer nor 204 has a length.
    if (!isOpenEnded && head.length >= 0 && status !== 204)
      list.push('content-length', String(head.length))
  }
  addLines(list, lines)
  return list
}

/** An answer of our own; `length` below 0 for one that has no body by its status. */
export function replyHeaders(status: number, lines: FieldLines, length: number): HeaderList {
  const list: HeaderList = [':status', String(status)]
  if (status >= 200) addLines(list, dateLine(Date.now()))
  if (length >= 0) list.push('content-length', String(length))
  addLines(list, lines)
  return list
}

function addLines(list: HeaderList, lines: FieldLines): void {
  if (lines === '') return
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) list.push(line.slice(0, colon).toLowerCase(), unpadded(line.slice(colon + 1)))
  }
}

/** The same as an object, for the calls of node:http2 that take no list. */
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
  const trailers = new Fields()
  beginFields(trailers, 0)
  const at = readFields(trailers, bytes, 0, bytes.length, BODY_LIMITS.trailerFields)
  if (at < 0) return at
  if (at !== bytes.length) return refuse('bad-header-value')
  trailers.text = bytes.toString('latin1')
  for (let i = 0; i < trailers.count; i++)
    if (isForbiddenTrailer(fieldName(trailers, i).toLowerCase())) trailers.kinds[i] = HIDDEN
  return trailers
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
