import fc from 'fast-check'
import { DATA, frame, RST_STREAM } from '../proxy/http2-gateway.ts'
import { asked, blockOf, dataOf, headersOf, PREFACE, shown } from './http2-connections.ts'

const [PRIORITY, SETTINGS, PING, WINDOW_UPDATE, PRIORITY_UPDATE] = [2, 4, 6, 8, 16]
const [HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE] = [1, 4, 5]
const [CANCEL, END_STREAM, END_HEADERS, HEADERS] = [8, 1, 4, 1]
const DEFAULT_WINDOW = 65_535
/** A stream that no script opens. */
const NEVER = 2_001

export const word = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const setting = (id: number, value: number): Buffer =>
  Buffer.concat([Buffer.from([id >> 8, id & 0xff]), word(value)])

/** A request of a script, and the size of its response. */
const request = fc.record({
  asked,
  size: fc.constantFrom(0, 0, 1, 200, 5_000, 9_000),
  /** The positions of its frames among those of the other requests. */
  places: fc.array(fc.nat(1_000), { minLength: 8, maxLength: 8 }),
})

/**
 * Frames that may come between any two frames, and that change no request except the one they
 * reset.
 */
const extra = fc.record({
  what: fc.constantFrom(
    'ping',
    'pong',
    'acknowledge',
    'table',
    'window',
    'frame-size',
    'unknown-setting',
    'settings',
    'unknown',
    'priority',
    'priority-update',
    'grow',
    'grow-stream',
    'grow-stream',
    'empty',
    'reset',
  ),
  /** The request that the frame refers to. */
  which: fc.nat(5),
  amount: fc.constantFrom(0, 1, 100, 4_096, 70_000),
  place: fc.nat(1_000),
})

export const script = fc.record({
  requests: fc.array(request, { minLength: 1, maxLength: 5 }),
  extras: fc.array(extra, { maxLength: 10 }),
  /** The position of the fault, if the script has one. */
  faultAt: fc.nat(1_000),
})

export type Script = typeof script extends fc.Arbitrary<infer Own> ? Own : never
type Extra = Script['extras'][number]
type Request = Script['requests'][number]

/** The context in which a client's fault is built. */
export interface FaultPlace {
  /** An unopened stream; `id + 2` and higher are also free. */
  readonly id: number
}

export interface Rendered {
  readonly frames: readonly Buffer[]
  /** The complete requests that a server sees, before and after a fault. */
  readonly whole: readonly string[]
  readonly wholeBefore: readonly string[]
  /** Those of the complete requests that were reset later; a server may have dropped them. */
  readonly dropped: ReadonlySet<string>
  /** The minimum and maximum number of bytes of each response. */
  readonly responses: ReadonlyMap<number, { readonly min: number; readonly max: number }>
  /** The stream passed to the fault. */
  readonly faultId: number
}

/** A request in progress. */
class Open {
  readonly id: number
  readonly own: Request
  readonly path: string
  state: 'open' | 'whole' | 'reset' = 'open'
  /** A request that declares an empty body is seen before it ends. */
  isSeen = false
  /** Bytes granted to its response in addition to the initial window. */
  granted = 0
  most: number

  constructor(id: number, own: Request, path: string, window: number) {
    this.id = id
    this.own = own
    this.path = path
    this.most = window
  }
}

class Writer {
  readonly frames: Buffer[] = [PREFACE, frame(SETTINGS, 0, 0, setting(3, 100))]
  readonly opened = new Map<number, Open>()
  readonly whole: string[] = []
  readonly dropped = new Set<string>()
  next = 1
  window = DEFAULT_WINDOW
  wholeBefore: readonly string[] = []
  #hasAcknowledged = false

  send(type: number, flags: number, id: number, payload: Buffer): void {
    this.frames.push(frame(type, flags, id, payload))
  }

  /** Sends the `part`th frame of a request; a head with its CONTINUATION frames counts as one. */
  request(index: number, own: Request, part: number): void {
    const { asked } = own
    if (part === 0) {
      const path = `/${index}/${own.size}${asked.path}`
      const open = new Open(this.next, own, path, this.window)
      this.next += 2
      this.opened.set(index, open)
      const block = blockOf(headOf(open), asked.isIndexed)
      this.frames.push(...headersOf(open.id, asked, block, !hasBody(own)))
      if (!hasBody(own)) this.#complete(open)
      else if (toldLength(own) === 0) this.#see(open)
      return
    }
    const open = this.opened.get(index)
    if (open === undefined || open.state !== 'open') return
    const body = asked.body[part - 1]
    if (body !== undefined) {
      const ends = part === asked.body.length && asked.trailers.length === 0
      this.frames.push(dataOf(open.id, asked, Buffer.from(body), ends))
      if (ends) this.#complete(open)
    } else if (part === asked.body.length + 1 && asked.trailers.length > 0) {
      const block = blockOf(asked.trailers, asked.isIndexed)
      this.send(HEADERS, END_HEADERS | END_STREAM, open.id, block)
      this.#complete(open)
    }
  }

  #complete(open: Open): void {
    open.state = 'whole'
    this.#see(open)
  }

  #see(open: Open): void {
    if (!open.isSeen) this.whole.push(seenOf(open))
    open.isSeen = true
  }

  extra({ what, which, amount }: Extra): void {
    const about = this.opened.get(which)
    const id = about?.id ?? NEVER
    if (what === 'ping' || what === 'pong')
      this.send(PING, what === 'ping' ? 0 : 1, 0, Buffer.alloc(8, amount))
    else if (what === 'acknowledge') this.#acknowledge()
    else if (what === 'table') this.send(SETTINGS, 0, 0, setting(HEADER_TABLE_SIZE, amount))
    else if (what === 'window') this.#changeWindow(amount)
    else if (what === 'frame-size')
      this.send(SETTINGS, 0, 0, setting(MAX_FRAME_SIZE, 16_384 + amount))
    else if (what === 'unknown-setting') this.send(SETTINGS, 0, 0, setting(0xff00, amount))
    else if (what === 'settings') this.send(SETTINGS, 0, 0, Buffer.alloc(0))
    else if (what === 'unknown') this.send(0x2a + which, 0xff, which === 0 ? 0 : id, word(amount))
    else if (what === 'priority')
      this.send(PRIORITY, 0, id, Buffer.from([0, 0, 0, 0, amount & 255]))
    else if (what === 'priority-update')
      this.send(PRIORITY_UPDATE, 0, 0, Buffer.concat([word(id), Buffer.from('u=2, i')]))
    else if (what === 'grow') this.send(WINDOW_UPDATE, 0, 0, word(amount + 1))
    else if (about === undefined) return
    else if (what === 'grow-stream') this.#grow(about, amount + 1)
    else if (what === 'reset') this.#reset(about)
    else if (about.state === 'open') this.send(DATA, 0, id, Buffer.alloc(0))
  }

  /**
   * A second acknowledgement has no SETTINGS frame to acknowledge, and Go closes the connection.
   */
  #acknowledge(): void {
    if (!this.#hasAcknowledged) this.send(SETTINGS, 1, 0, Buffer.alloc(0))
    this.#hasAcknowledged = true
  }

  #changeWindow(value: number): void {
    this.window = value
    this.send(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, value))
    for (const open of this.opened.values())
      open.most = Math.max(open.most, this.window + open.granted)
  }

  #grow(about: Open, amount: number): void {
    about.granted += amount
    about.most = Math.max(about.most, this.window + about.granted)
    this.send(WINDOW_UPDATE, 0, about.id, word(amount))
  }

  #reset(about: Open): void {
    if (about.state === 'reset') return
    if (about.isSeen) this.dropped.add(seenOf(about))
    about.state = 'reset'
    this.send(RST_STREAM, 0, about.id, word(CANCEL))
  }
}

const hasBody = ({ asked }: Request) => asked.body.length > 0 || asked.trailers.length > 0

/** Whether the length is declared depends on `hasPriority`, which is unrelated otherwise. */
function toldLength({ asked }: Request): number | undefined {
  const isTold = asked.body.length > 0 && asked.hasPriority
  return isTold ? asked.body.join('').length : undefined
}

type Pair = readonly [string, string]

function headOf({ own, path }: Open): readonly Pair[] {
  const { asked } = own
  const length = toldLength(own)
  return [
    [':method', asked.method],
    [':scheme', 'http'],
    [':authority', 'x.test'],
    [':path', path],
    ...asked.fields,
    ...(length === undefined ? [] : [['content-length', String(length)] as const]),
  ]
}

function seenOf(open: Open): string {
  const { asked } = open.own
  const fields = headOf(open).slice(4)
  const late = asked.trailers.map(([name, value]) => `${name}: ${value}`)
  return shown(asked.method, open.path, 'x.test', fields, asked.body.join(''), late)
}

/**
 * Renders everything that the client of a script sends, and what follows from it according to RFC
 * 9113 alone.
 */
export function render(
  { requests, extras, faultAt }: Script,
  fault?: (place: FaultPlace) => readonly Buffer[],
): Rendered {
  const writer = new Writer()
  const steps: { place: number; run: () => void }[] = []
  for (const [index, own] of requests.entries()) {
    let place = 0
    for (let part = 0; part <= own.asked.body.length + 1; part++) {
      place = Math.max(place, own.places[part] ?? place) + 1e-3
      steps.push({ place, run: () => writer.request(index, own, part) })
    }
  }
  for (const own of extras) steps.push({ place: own.place, run: () => writer.extra(own) })
  let faultId = 0
  if (fault !== undefined)
    steps.push({
      place: faultAt,
      run: () => {
        faultId = writer.next
        // A fault may open two streams.
        writer.next += 4
        writer.wholeBefore = [...writer.whole]
        writer.frames.push(...fault({ id: faultId }))
      },
    })
  for (const { run } of steps.toSorted((a, b) => a.place - b.place)) run()
  return {
    frames: writer.frames,
    whole: writer.whole.toSorted(),
    wholeBefore: writer.wholeBefore.toSorted(),
    dropped: writer.dropped,
    responses: new Map([...writer.opened.values()].map((open) => [open.id, bounds(open, writer)])),
    faultId,
  }
}

/**
 * RFC 9113 §6.9: at least as much as the window allows at the end, and at most as much as it ever
 * allowed.
 */
function bounds({ state, granted, most, own }: Open, { window }: Writer) {
  const isServed = state === 'whole'
  const min = isServed ? Math.min(own.size, Math.max(0, window + granted)) : 0
  return { min, max: Math.min(own.size, most) }
}
