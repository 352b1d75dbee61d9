import fc from 'fast-check'
import { DATA, frame, RST_STREAM } from '../proxy/http2-gateway.ts'
import { responseOf, type ScriptedResponse, scriptedResponse } from './http2-responses.ts'
import { type FaultPlace, setting, word } from './http2-scripts.ts'

const [PRIORITY, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [2, 4, 6, 7, 8]
const NEVER = 2_002
const PLACES = 12

/** Frames that a server may send between any two frames. */
const extra = fc.record({
  what: fc.constantFrom(
    'ping',
    'pong',
    'table',
    'window',
    'frame-size',
    'streams',
    'list-size',
    'unknown-setting',
    'unknown',
    'priority',
    'grow',
    'grow-stream',
    'empty',
    'reset',
    'goaway',
  ),
  which: fc.nat(4),
  amount: fc.constantFrom(0, 1, 100, 4_096, 70_000),
  code: fc.constantFrom(0, 2, 7, 8),
  place: fc.nat(1_000),
})

export const responseScript = fc.record({
  responses: fc.array(scriptedResponse, { minLength: 1, maxLength: 4 }),
  extras: fc.array(extra, { maxLength: 8 }),
  faultAt: fc.nat(1_000),
})

export type ResponseScript = typeof responseScript extends fc.Arbitrary<infer Own> ? Own : never
type Extra = ResponseScript['extras'][number]

export interface Expected {
  readonly response: ScriptedResponse
  /** The result that is reported if the response is complete. */
  readonly text: string
  readonly isWhole: boolean
  /** Whether the response was complete before the fault. */
  readonly wasWhole: boolean
}

export interface RenderedResponses {
  readonly bytes: Buffer
  readonly expected: readonly Expected[]
  /** The first of two streams into which faults are injected. */
  readonly faultId: number
}

class Writer {
  readonly frames: Buffer[] = []
  readonly states: ('idle' | 'open' | 'whole' | 'over')[]
  readonly #pieces: readonly (readonly Buffer[])[]
  #hasLeft = false

  constructor(responses: readonly ScriptedResponse[]) {
    this.#pieces = responses.map((own, i) => responseOf(2 * i + 1, own))
    this.states = responses.map(() => 'idle')
  }

  send(type: number, flags: number, id: number, payload: Buffer): void {
    this.frames.push(frame(type, flags, id, payload))
  }

  response(index: number, own: ScriptedResponse, part: number): void {
    const pieces = this.#pieces[index] ?? []
    const bytes = pieces[part]
    if (bytes === undefined || this.states[index] === 'over') return
    this.frames.push(bytes)
    // The frames before the response come first, then interim responses, then the head.
    if (part === own.interim.length + 1) this.states[index] = 'open'
    if (part === pieces.length - 1) this.states[index] = 'whole'
  }

  extra({ what, which, amount, code }: Extra): void {
    const state = this.states[which]
    const id = state === undefined ? 0 : 2 * which + 1
    if (what === 'ping' || what === 'pong')
      this.send(PING, what === 'ping' ? 0 : 1, 0, Buffer.alloc(8, amount))
    else if (what === 'table') this.send(SETTINGS, 0, 0, setting(1, amount))
    else if (what === 'streams') this.send(SETTINGS, 0, 0, setting(3, amount))
    else if (what === 'window') this.send(SETTINGS, 0, 0, setting(4, amount))
    else if (what === 'frame-size') this.send(SETTINGS, 0, 0, setting(5, 16_384 + amount))
    else if (what === 'list-size') this.send(SETTINGS, 0, 0, setting(6, amount))
    else if (what === 'unknown-setting') this.send(SETTINGS, 0, 0, setting(0xff00, amount))
    else if (what === 'unknown') this.send(0x2a + which, 0xff, id, word(amount))
    else if (what === 'priority') this.send(PRIORITY, 0, id || NEVER, Buffer.from([0, 0, 0, 0, 9]))
    else if (what === 'grow') this.send(WINDOW_UPDATE, 0, 0, word(amount + 1))
    else if (what === 'goaway') this.#goAway(id, state)
    else if (state === undefined) return
    else if (what === 'grow-stream') this.send(WINDOW_UPDATE, 0, id, word(amount + 1))
    else if (what === 'empty') {
      if (state === 'open') this.send(DATA, 0, id, Buffer.alloc(0))
    } else if (what === 'reset' && state !== 'over') {
      this.send(RST_STREAM, 0, id, word(code))
      if (state !== 'whole') this.states[which] = 'over'
    }
  }

  /**
   * RFC 9113 §6.8: requests after the last stream ID were not processed, so they get no response.
   */
  #goAway(last: number, state: string | undefined): void {
    if (this.#hasLeft || state === undefined) return
    this.#hasLeft = true
    const isClean = this.states.every((own, i) => own === 'idle' || 2 * i + 1 <= last)
    const named = isClean ? last : 0x7fffffff
    this.send(GOAWAY, 0, 0, Buffer.concat([word(named), word(0)]))
    this.states.forEach((own, i) => {
      if (2 * i + 1 > named && own !== 'whole') this.states[i] = 'over'
    })
  }
}

export function renderResponses(
  { responses, extras, faultAt }: ResponseScript,
  fault?: (place: FaultPlace) => readonly Buffer[],
): RenderedResponses {
  // With a fault, there is a stream after those that GOAWAY would name.
  const quiet = fault === undefined ? extras : extras.filter(({ what }) => what !== 'goaway')
  const writer = new Writer(responses)
  const steps: { place: number; run: () => void }[] = []
  for (const [index, own] of responses.entries()) {
    let place = 0
    for (let part = 0; part < PLACES; part++) {
      place = Math.max(place, own.turns[part] ?? place) + 1e-3
      steps.push({ place, run: () => writer.response(index, own, part) })
    }
  }
  for (const own of quiet) steps.push({ place: own.place, run: () => writer.extra(own) })
  const faultId = 2 * responses.length + 1
  let before: readonly string[] = []
  if (fault !== undefined)
    steps.push({
      place: faultAt,
      run: () => {
        before = [...writer.states]
        writer.frames.push(...fault({ id: faultId }))
      },
    })
  for (const { run } of steps.toSorted((a, b) => a.place - b.place)) run()
  const expected = responses.map((own, i) => ({
    response: own,
    text: toldOf(own),
    isWhole: writer.states[i] === 'whole',
    wasWhole: before[i] === 'whole',
  }))
  return { bytes: Buffer.concat(writer.frames), expected, faultId }
}

function toldOf(own: ScriptedResponse): string {
  const isBodiless = own.status === 204 || own.status === 304
  const body = isBodiless ? '' : own.body.join('')
  const hasLength = own.hasLength && own.body.length > 0 && !isBodiless
  const lines = own.fields.map(([name, value]) => ` ${name}=${value}`).join('')
  const length = hasLength ? ` content-length=${body.length}` : ''
  const late = isBodiless ? [] : own.trailers
  return [
    ...own.interim.map((status) => `interim ${status}`),
    `${own.status}${lines}${length}`,
    ...(body === '' ? [] : [`data ${body}`]),
    ['ended', ...late.map(([name, value]) => `${name}=${value}`)].join(' '),
  ].join('|')
}
