import { isTooMuch, MAX_READ_AT_ONCE } from '../../long-json.ts'
import { joinBytes } from '../json.ts'
import { editResponse, type MapId } from './state-edits.ts'

/** A longer line is passed through as is: its IDs cannot be opened. */
const MAX_LINE = MAX_READ_AT_ONCE

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const DATA = 'data:'
const ITEM_ID = /("item_id"\s*:\s*)"([^"\\]+)"/
/** Events that contain more than the ID of an item. */
const HAS_OBJECT = /"(?:response|item|part|annotation)"\s*:\s*\{/

/** Replaces IDs in a stream of server-sent events, line by line; other bytes are unchanged. */
export class StateStream {
  readonly #map: MapId
  #held: Uint8Array[] = []
  #size = 0

  constructor(map: MapId) {
    this.#map = map
  }

  push(bytes: Uint8Array): Uint8Array {
    const out: Uint8Array[] = []
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at]
      if (code !== LINE_FEED && code !== CARRIAGE_RETURN) continue
      out.push(this.#line(bytes.subarray(from, at)), bytes.subarray(at, at + 1))
      from = at + 1
    }
    if (from < bytes.length) this.#hold(bytes.subarray(from), out)
    return joinBytes(out)
  }

  end(): Uint8Array {
    const rest = joinBytes(this.#held)
    this.#held = []
    this.#size = 0
    return rest
  }

  /** Copies the bytes, whose buffer is reused. */
  #hold(bytes: Uint8Array, out: Uint8Array[]): void {
    this.#held.push(new Uint8Array(bytes))
    this.#size += bytes.length
    if (this.#size <= MAX_LINE) return
    out.push(...this.#held)
    this.#held = []
  }

  #line(end: Uint8Array): Uint8Array {
    const line = this.#held.length === 0 ? end : joinBytes([...this.#held, end])
    this.#held = []
    this.#size = 0
    if (line.length <= DATA.length) return line
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString('utf8')
    if (!text.startsWith(DATA)) return line
    const edited = this.#data(text)
    return edited === text ? line : Buffer.from(edited)
  }

  #data(text: string): string {
    if (!HAS_OBJECT.test(text)) {
      return text.replace(ITEM_ID, (all, before: string, id: string) => {
        const own = this.#map(id, 'item_id')
        return own === undefined ? all : `${before}${JSON.stringify(own)}`
      })
    }
    const start = text.indexOf('{')
    const json = text.slice(start)
    return isJson(json) ? `${text.slice(0, start)}${editResponse(json, this.#map)}` : text
  }
}

/** Texts are edited without being parsed, so they must first be known to be valid JSON. */
export function isJson(text: string): boolean {
  if (isTooMuch(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
