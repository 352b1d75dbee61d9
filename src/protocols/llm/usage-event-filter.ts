import { MAX_SSE_EVENT } from '../sse.ts'
import { decodeUtf8, isObject, joinBytes, parseJsonText } from './json.ts'
import { list, obj } from './reading.ts'

const NOTHING = new Uint8Array(0)
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/**
 * Takes the event with the usage out of a stream of chat completions, for clients that did not ask
 * for it. Every other byte passes as it is; only an event that is not whole yet waits.
 */
export class UsageEventFilter {
  #held: Uint8Array[] = []
  #size = 0

  push(bytes: Uint8Array): Uint8Array {
    // An event cannot end without a line end, so most pieces of a long one are not searched again.
    const all = this.#size === 0 ? bytes : joinBytes([...this.#held, bytes])
    const end = endOfLastEvent(all)
    const whole = all.subarray(0, end)
    this.#hold(all.subarray(end))
    return mayHoldUsage(whole) ? withoutUsage(whole) : whole
  }

  end(): Uint8Array {
    const rest = joinBytes(this.#held)
    this.#held = []
    this.#size = 0
    return rest
  }

  #hold(rest: Uint8Array): void {
    // A copy: the bytes may belong to a buffer that is filled again.
    this.#held = rest.length > 0 ? [rest.slice()] : []
    this.#size = rest.length
  }

  get isTooLong(): boolean {
    return this.#size > MAX_SSE_EVENT
  }
}

/** Behind the last empty line; 0 where there is none. */
function endOfLastEvent(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at--) {
    if (isEnd(bytes, at)) return at + 1
  }
  return 0
}

/** Does an empty line end at this byte? */
function isEnd(bytes: Uint8Array, at: number): boolean {
  const code = bytes[at]
  const before = bytes[at - 1]
  if (code === LINE_FEED) {
    if (before === LINE_FEED) return true
    const earlier = bytes[at - 2]
    return before === CARRIAGE_RETURN && (earlier === LINE_FEED || earlier === CARRIAGE_RETURN)
  }
  // The line feed of CR LF may still come; it is then a line without anything, which does no harm.
  return code === CARRIAGE_RETURN && (before === CARRIAGE_RETURN || before === LINE_FEED)
}

const USAGE = new TextEncoder().encode('"usage"')

function mayHoldUsage(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(117); at > 0; at = bytes.indexOf(117, at + 1)) {
    if (bytes[at - 1] !== USAGE[0]) continue
    let length = 1
    while (length < 7 && bytes[at - 1 + length] === USAGE[length]) length++
    if (length === 7) return true
  }
  return false
}

function withoutUsage(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = []
  let start = 0
  for (let at = 1; at < bytes.length; at++) {
    if (!isEnd(bytes, at)) continue
    const event = bytes.subarray(start, at + 1)
    if (!isUsageEvent(event)) kept.push(event)
    start = at + 1
  }
  if (start < bytes.length) kept.push(bytes.subarray(start))
  return kept.length === 0 ? NOTHING : joinBytes(kept)
}

function isUsageEvent(event: Uint8Array): boolean {
  const text = decodeUtf8(event)
  if (text === undefined || !text.includes('"usage"')) return false
  const data = text
    .split(/\r\n|\r|\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5))
    .join('\n')
  const { value } = parseJsonText(data)
  return isObject(value) && isObject(value['usage']) && list(obj(value)['choices']).length === 0
}
