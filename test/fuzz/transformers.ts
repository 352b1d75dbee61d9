import { createGzip, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type BodyFlow, type BodyTransformer, inPieces } from '../../src/exchange/body-part.ts'

/** A transformer, and what it comes to for a body that is there as a whole. */
export interface Twin {
  readonly name: string
  readonly plain: (body: Buffer) => Buffer
  readonly open: (flow: BodyFlow) => BodyTransformer
  /** What was made of a body, read back; where the bytes themselves may be any. */
  readonly read?: (body: Buffer) => Buffer
}

const flip = (bytes: Uint8Array) => Buffer.from(bytes).map((byte) => byte ^ 0x5a)

/** Each piece by itself, at once. */
const flipping: Twin = {
  name: 'flip',
  plain: (body) => Buffer.from(flip(body)),
  open: (flow) => inPieces(flow, flip),
}

/** Twice as much as came. */
const doubling: Twin = {
  name: 'double',
  plain: (body) => Buffer.from([...body].flatMap((byte) => [byte, byte])),
  open: (flow) => inPieces(flow, (bytes) => Buffer.from([...bytes].flatMap((one) => [one, one]))),
}

/** Something before and behind it, also of an empty one. */
const framing: Twin = {
  name: 'frame',
  plain: (body) => Buffer.concat([Buffer.from('<'), body, Buffer.from('>')]),
  open: (flow) => {
    let isOpen = false
    const begin = () => {
      const start = isOpen ? [] : [Buffer.from('<')]
      isOpen = true
      return start
    }
    return inPieces(
      flow,
      (bytes) => Buffer.concat([...begin(), bytes]),
      () => Buffer.concat([...begin(), Buffer.from('>')]),
    )
  },
}

/** Nothing until the end, then all of it backwards. */
const reversing: Twin = {
  name: 'reverse',
  plain: (body) => Buffer.from(body).reverse(),
  open: (flow) => {
    const pieces: Uint8Array[] = []
    return {
      write: (bytes) => pieces.push(bytes) > 0,
      end() {
        flow.write(Buffer.concat(pieces).reverse())
        flow.end()
      },
      resume: () => flow.drained(),
      abort() {},
    }
  },
}

/** One piece at a time, each some turns later; takes no more meanwhile. */
function delaying(turns: number): Twin {
  return {
    name: `delay by ${turns}`,
    plain: (body) => body,
    open: (flow) => {
      const queue: Uint8Array[] = []
      let isBusy = false
      let isBlocked = false
      let isEnded = false
      let isGone = false
      const next = () => {
        if (isBusy || isBlocked || isGone) return
        isBusy = true
        later(turns, () => {
          isBusy = false
          if (isGone) return
          const bytes = queue.shift()
          if (bytes !== undefined) isBlocked = !flow.write(bytes)
          if (queue.length > 0) next()
          else if (isEnded) flow.end()
          else if (!isBlocked) flow.drained()
        })
      }
      return {
        write(bytes) {
          queue.push(bytes)
          next()
          return false
        },
        end() {
          isEnded = true
          next()
        },
        resume() {
          const wasBlocked = isBlocked
          isBlocked = false
          if (queue.length > 0 || isEnded) next()
          else if (wasBlocked) flow.drained()
        },
        abort() {
          isGone = true
        },
      }
    },
  }
}

function later(turns: number, work: () => void): void {
  if (turns === 0) work()
  else setImmediate(() => later(turns - 1, work))
}

/** A stream of Node's, with buffers of its own. */
const zipping: Twin = {
  name: 'gzip',
  plain: (body) => body,
  read: (body) => gunzipSync(body),
  open: (flow) => {
    const stream = createGzip({ level: 1 })
    stream.on('data', (bytes: Buffer) => {
      if (!flow.write(bytes)) stream.pause()
    })
    stream.on('drain', () => flow.drained())
    stream.on('end', () => flow.end())
    stream.on('error', (error) => flow.fail(error))
    return {
      write: (bytes) => stream.write(bytes),
      end: () => void stream.end(),
      resume: () => void stream.resume(),
      flush: () => void stream.flush(),
      abort: () => void stream.destroy(),
    }
  },
}

export const twin: fc.Arbitrary<Twin> = fc.constantFrom(
  flipping,
  doubling,
  framing,
  reversing,
  delaying(1),
  delaying(3),
)

/** Up to three, of which only the last compresses: what follows would have to know how. */
export const twins: fc.Arbitrary<readonly Twin[]> = fc
  .tuple(fc.array(twin, { maxLength: 3 }), fc.constantFrom(undefined, undefined, zipping))
  .map(([some, last]) => (last === undefined ? some : [...some, last]))

/** What comes out, read back where it is compressed. */
export function plainly(own: readonly Twin[], body: Buffer): Buffer {
  return own.reduce((bytes, { plain }) => plain(bytes), body)
}

export function readBack(own: readonly Twin[], body: Buffer): Buffer {
  return own.reduceRight((bytes, { read }) => (read === undefined ? bytes : read(bytes)), body)
}

/** The body in pieces of these lengths, over and over. */
export function inPiecesOf(body: Buffer, lengths: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < body.length; i++) {
    const length = lengths[i % lengths.length] ?? 1
    pieces.push(body.subarray(at, at + length))
    at += length
  }
  return pieces
}
