import { copyBytes, decodeUtf8, isObject, joinBytes, parseJsonText } from './json.ts'
import { list, obj } from './reading.ts'

const NO_BYTES = new Uint8Array(0)
/** A longer event has no usage, and is not joined again and again. */
const MAX_HELD = 64 * 1024
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/**
 * Removes the usage event from a stream of chat completions, for clients that did not request it.
 * Every other byte is passed through; only an incomplete event is held back.
 */
export class UsageEventFilter {
  #held: Uint8Array[] = []
  #size = 0
  #isPassing = false

  /** True if no incomplete event is held back. */
  get isBetweenEvents(): boolean {
    return this.#size === 0 && !this.#isPassing
  }

  push(bytes: Uint8Array): Uint8Array {
    if (this.#isPassing) {
      // The rest of a long event; anything after it in the same piece is passed through with it.
      this.#isPassing = endOfLastEvent(bytes) === 0
      return bytes
    }
    const all = this.#size === 0 ? bytes : joinBytes([...this.#held, bytes])
    const end = endOfLastEvent(all)
    if (all.length - end > MAX_HELD) {
      this.#hold(NO_BYTES)
      this.#isPassing = true
      return all
    }
    const whole = all.subarray(0, end)
    this.#hold(all.subarray(end))
    return mayHoldUsage(whole) ? withoutUsage(whole) : whole
  }

  end(): Uint8Array {
    const rest = joinBytes(this.#held)
    this.#held = []
    this.#size = 0
    return isUsageEvent(rest) ? NO_BYTES : rest
  }

  #hold(rest: Uint8Array): void {
    this.#held = rest.length > 0 ? [copyBytes(rest)] : []
    this.#size = rest.length
  }
}

/** Returns the position after the last empty line, or 0 if there is none. */
function endOfLastEvent(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at > 0; at--) {
    if (isEnd(bytes, at)) return at + 1
  }
  return 0
}

/** True if an empty line ends at this byte. */
function isEnd(bytes: Uint8Array, at: number): boolean {
  const code = bytes[at]
  const before = bytes[at - 1]
  if (code === LINE_FEED) {
    if (before === LINE_FEED) return true
    const earlier = bytes[at - 2]
    return before === CARRIAGE_RETURN && (earlier === LINE_FEED || earlier === CARRIAGE_RETURN)
  }
  // The line feed of CR LF may still arrive, and belongs to the event.
  if (code !== CARRIAGE_RETURN || at + 1 >= bytes.length || bytes[at + 1] === LINE_FEED)
    return false
  return before === CARRIAGE_RETURN || before === LINE_FEED
}

const USAGE = new TextEncoder().encode('"usage"')

/** Other events have `"usage":null`: they are passed through without being parsed. */
function mayHoldUsage(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(117); at > 0; at = bytes.indexOf(117, at + 1)) {
    if (bytes[at - 1] !== USAGE[0]) continue
    let length = 1
    while (length < USAGE.length && bytes[at - 1 + length] === USAGE[length]) length++
    if (length < USAGE.length) continue
    let next = at - 1 + length
    while (SPACES_AND_COLON.has(bytes[next] ?? 0)) next++
    if (bytes[next] !== SMALL_N) return true
  }
  return false
}

const SMALL_N = 110
const SPACES_AND_COLON: ReadonlySet<number> = new Set([9, 10, 13, 32, 58])

function withoutUsage(bytes: Uint8Array): Uint8Array {
  const kept: Uint8Array[] = []
  let start = 0
  for (let at = 1; at < bytes.length; at++) {
    if (!isEnd(bytes, at)) continue
    const event = bytes.subarray(start, at + 1)
    if (!isUsageEvent(event)) kept.push(event)
    start = at + 1
  }
  const last = bytes.subarray(start)
  if (last.length > 0 && !isUsageEvent(last)) kept.push(last)
  return kept.length === 0 ? NO_BYTES : joinBytes(kept)
}

/** It contains only numbers; a longer event is something else. */
const MAX_USAGE_EVENT = 1 << 16

function isUsageEvent(event: Uint8Array): boolean {
  if (event.length > MAX_USAGE_EVENT) return false
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
