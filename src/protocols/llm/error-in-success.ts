import { isObject, parseJsonText } from './json.ts'
import { obj, str } from './reading.ts'

/*
 * Errors that providers send with a success status: in place of a response, or as the first event
 * of a stream.
 */

/** The number of characters that are enough to tell an error from anything else. */
const ENOUGH = 48

/** Errors are never longer; a longer body that begins like an error is passed through. */
const MAX_ERROR_BODY = 65_536

const BEGINS = /^\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error")/
const EVENT_BEGINS =
  /^(?:event: ?error\r?\n|data: ?\{\s*"(?:error"\s*:\s*[{"]|type"\s*:\s*"error"))/

/** How much of the beginning of a body is read; more is read only if it begins like an error. */
export const ERROR_PREFIX_BYTES = 256

/**
 * What providers send to keep a connection open before they respond: white space, or comments of a
 * stream. However much of it there is, what follows may be an error.
 */
const PADDING = /^\s*/
const STREAM_PADDING = /^\s*(?::[^\r\n]*[\r\n]\s*)*/

function begunOf(text: string, isStream: boolean): string {
  return text.replace(isStream ? STREAM_PADDING : PADDING, '')
}

/** True if an incomplete body with this beginning may be an error. */
export function beginsLikeError(text: string, isStream: boolean): boolean {
  const begun = begunOf(text, isStream)
  return (isStream ? EVENT_BEGINS : BEGINS).test(begun) || mayBegin(begun, isStream)
}

/** Undefined if it is not an error. */
export type ErrorInSuccess = { readonly status: number } | 'more' | undefined

/** `text` is the beginning of a body, in Latin-1. */
export function errorInSuccess(text: string, isStream: boolean, isWhole: boolean): ErrorInSuccess {
  const begun = begunOf(text, isStream)
  const more = isWhole || text.length > MAX_ERROR_BODY ? undefined : 'more'
  if (!isStream) {
    if (!BEGINS.test(begun)) return mayBegin(begun, isStream) ? more : undefined
    return isWhole ? statusOf(begun) : more
  }
  const isEvent = /\r?\n\r?\n/.test(begun)
  if (!EVENT_BEGINS.test(begun)) {
    // Comments alone are passed on at once: they keep the client's connection open, too.
    const isOpen = mayBegin(begun, isStream) && !(begun === '' && text.trim() !== '')
    return isOpen && !isEvent ? more : undefined
  }
  if (!isEvent && !isWhole) return more
  const [event = ''] = begun.split(/\r?\n\r?\n/, 1)
  const data = event.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
  return statusOf(data.join('\n'))
}

function mayBegin(begun: string, isStream: boolean): boolean {
  return begun.length < ENOUGH && (begun === '' || (isStream ? /^[ed]/ : /^\{/).test(begun))
}

/** Returns undefined if it only begins like an error. */
function statusOf(json: string): ErrorInSuccess {
  const { value } = parseJsonText(Buffer.from(json, 'latin1').toString('utf8'))
  if (!isObject(value)) return undefined
  const own = value['error']
  if (typeof own !== 'string' && !isObject(own)) return undefined
  const error = obj(own)
  for (const code of [error['code'], error['status'], value['code'], value['status']]) {
    const number = Number(code)
    if (number >= 400 && number <= 599 && Number.isInteger(number)) return { status: number }
  }
  const words = [error['type'], error['code'], error['status'], value['code']].map(str).join(' ')
  return { status: STATUSES.find(([pattern]) => pattern.test(words))?.[1] ?? 502 }
}

/** By the vendors' error names; the message is not considered, since it may contain any text. */
const STATUSES: readonly (readonly [words: RegExp, status: number])[] = [
  [/rate.?limit|too.?many|resource.?exhausted|throttl|insufficient.?quota/i, 429],
  [/overloaded|unavailable|capacity/i, 503],
  [/timeout|deadline.?exceeded/i, 504],
  [/authentication|unauthenticated|invalid.?api.?key/i, 401],
  [/billing/i, 402],
  [/permission|forbidden/i, 403],
  [/not.?found/i, 404],
  [/too.?large/i, 413],
  [/invalid.?request|invalid.?argument|context.?length/i, 400],
]
