import { isForbiddenTrailer } from '../../src/wire/http1/field-names.ts'
import type { RejectionWord } from '../../src/wire/http1/rejections.ts'
import { Cursor, fail, type PlainField, plainFields, Verdict } from './http1-head.plain.ts'

/*
 * The reference implementation of src/wire/http1/body.ts and chunked.ts: takes the whole body at
 * once, as one string. Keeps what was read before the verdict.
 */

export interface PlainBody {
  verdict: RejectionWord | 'more' | 'done'
  consumed: number
  data: string
  /** The chunks as they may be forwarded: as written, without extensions and trailers. */
  wire: string
  trailers: PlainField[] | undefined
}

export interface PlainBodyLimits {
  readonly extensions: number
  readonly trailers: number
  readonly trailerFields: number
}

export function plainLength(text: string, length: number): PlainBody {
  const data = text.slice(0, length)
  const verdict = data.length === length ? 'done' : 'more'
  return { verdict, consumed: data.length, data, wire: '', trailers: undefined }
}

export function plainChunks(text: string, limits: PlainBodyLimits): PlainBody {
  const body: PlainBody = { verdict: 'done', consumed: 0, data: '', wire: '', trailers: undefined }
  const cursor = new Cursor(text)
  try {
    readChunks(cursor, body, limits)
  } catch (error) {
    if (!(error instanceof Verdict)) throw error
    body.verdict = error.word
  }
  body.consumed = cursor.at
  return body
}

function readChunks(cursor: Cursor, body: PlainBody, limits: PlainBodyLimits): void {
  let extensions = 0
  for (;;) {
    const size = cursor.take(/[0-9a-fA-F]*/)
    const isLarge = size.length > 16 || BigInt(`0x0${size}`) > Number.MAX_SAFE_INTEGER
    if (isLarge) fail('chunk-too-large')
    body.wire += size
    if (size === '') cursor.one(/[0-9a-fA-F]/, 'bad-chunk-size')
    if (cursor.peek() === ';') {
      cursor.at++
      const extension = takeExtension(cursor)
      extensions += extension.length
      if (extensions > limits.extensions) fail('chunk-extensions-too-large')
      const isWhole = new RegExp(`^${WHOLE}$`).test(`;${extension}`)
      if (!isWhole && cursor.peek() === '\r') fail('bad-chunk-extension')
      endOfLine(cursor, body, 'bad-chunk-extension')
    } else endOfLine(cursor, body, 'bad-chunk-size')
    const length = Number.parseInt(size, 16)
    if (length === 0) break
    const data = cursor.text.slice(cursor.at, cursor.at + length)
    cursor.at += data.length
    body.data += data
    body.wire += data
    if (data.length < length) fail('more')
    endOfLine(cursor, body, 'bad-chunk-end')
  }
  if (cursor.peek() === '\r') endOfLine(cursor, body, 'bad-header-name')
  else body.trailers = readTrailers(cursor, limits)
}

const TOKEN = "[-!#$%&'*+.^_`|~0-9A-Za-z]+"
const QUOTED =
  '(?:[\\t\\x20\\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*'
const WHOLE = `(?:;${TOKEN}(?:=(?:${TOKEN}|"${QUOTED}"))?)*`
const BEGUN = new RegExp(`^${WHOLE}(?:;(?:${TOKEN}(?:=(?:"${QUOTED}\\\\?)?)?)?)?$`)

/** Takes as many bytes as can start an extension. */
function takeExtension(cursor: Cursor): string {
  let taken = ''
  while (cursor.at < cursor.text.length && BEGUN.test(`;${taken}${cursor.peek()}`)) {
    taken += cursor.peek()
    cursor.at++
  }
  return taken
}

function endOfLine(cursor: Cursor, body: PlainBody, otherwise: RejectionWord): void {
  cursor.one(/\r/, otherwise)
  body.wire += '\r'
  if (cursor.peek() !== '\n') fail('bare-cr')
  cursor.at++
  body.wire += '\n'
}

function readTrailers(cursor: Cursor, limits: PlainBodyLimits): PlainField[] {
  const section = new Cursor(cursor.text.slice(cursor.at, cursor.at + limits.trailers))
  try {
    const fields = plainFields(section, limits.trailerFields)
    cursor.at += section.at
    return fields.map(([name, value, isHidden]) => {
      return [name, value, isHidden || isForbiddenTrailer(name.toLowerCase())]
    })
  } catch (error) {
    if (error instanceof Verdict && error.word === 'more') {
      if (section.text.length === limits.trailers) fail('trailers-too-large')
      cursor.at = cursor.text.length
    }
    throw error
  }
}
