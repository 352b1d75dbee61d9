import { isEndToEnd } from '../../src/wire/http1/field-names.ts'
import {
  Cursor,
  fail,
  type PlainLimits,
  plainConnection,
  plainFields,
  plainFraming,
  Verdict,
} from './http1-head.plain.ts'

/**
 * Parses a complete response head at the start of the text. Returns its content or the word of the
 * rejection.
 */
export function plainResponse(text: string, method: string, limits: PlainLimits) {
  const cursor = new Cursor(text.slice(0, limits.head))
  try {
    const { status, reason, minor } = statusLine(cursor)
    const fields = plainFields(cursor, limits.fields)
    const framing = plainFraming(fields, minor, true)
    const connection = plainConnection(fields, minor, isEndToEnd)
    const isEmpty = status < 200 || status === 204
    if (isEmpty && framing.framing === 'chunked') fail('transfer-coding-without-body')
    if (isEmpty || status === 304 || method === 'HEAD') framing.framing = 'none'
    else if (framing.framing === 'none' && framing.length < 0) framing.framing = 'close'
    const keepAlive = connection.keepAlive && framing.framing !== 'close'
    return {
      consumed: cursor.at,
      status,
      reason,
      minor,
      ...framing,
      ...connection,
      keepAlive,
      fields,
    }
  } catch (error) {
    if (!(error instanceof Verdict)) throw error
    return error.word === 'more' && text.length >= limits.head ? 'head-too-large' : error.word
  }
}

function statusLine(cursor: Cursor) {
  const next = (pattern: RegExp) => cursor.one(pattern, 'bad-status-line')
  for (const char of 'HTTP/') next(RegExp(char))
  const major = next(/[0-9]/)
  next(/[.]/)
  const minor = next(/[0-9]/)
  if (major !== '1' || minor > '1') fail('unknown-version')
  next(/ /)
  const status = Number(next(/[1-9]/) + next(/[0-9]/) + next(/[0-9]/))
  if (cursor.peek() !== '\r') next(/ /)
  const reason = cursor.take(/[\t\x20-\x7e\x80-\xff]*/)
  cursor.endOfLine('bad-status-line')
  return { status, reason, minor: Number(minor) }
}
