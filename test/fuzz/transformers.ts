import { createGzip, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { type BodyFlow, type BodyTransformer, inPieces } from '../../src/exchange/body-part.ts'

/** A transformer, and its result for a whole body. */
export interface Twin {
  readonly name: string
  readonly plain: (body: Buffer) => Buffer
  readonly open: (flow: BodyFlow) => BodyTransformer
  /** Reads the transformed body back if its bytes may vary. */
  readonly read?: (body: Buffer) => Buffer
}

const flip = (bytes: Uint8Array) => Buffer.from(bytes).map((byte) => byte ^ 0x5a)

/** Each piece separately, at once. */
const flipping: Twin = {
  name: 'flip',
  plain: (body) => Buffer.from(flip(body)),
  open: (flow) => inPieces(flow, flip),
}

/** Doubles the length of the body. */
const doubling: Twin = {
  name: 'double',
  plain: (body) => Buffer.from([...body].flatMap((byte) => [byte, byte])),
  open: (flow) => inPieces(flow, (bytes) => Buffer.from([...bytes].flatMap((one) => [one, one]))),
}

/** Adds bytes before and after the body, even if it is empty. */
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

/** Sends nothing until the end, then everything in reverse order. */
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

/** Processes one piece at a time, each some turns later, and accepts no more in the meantime. */
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

/** A Node stream with its own buffers. */
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

/**
 * Up to three transformers, of which only the last compresses, since a later one would have to
 * decode its output.
 */
export const twins: fc.Arbitrary<readonly Twin[]> = fc
  .tuple(fc.array(twin, { maxLength: 3 }), fc.constantFrom(undefined, undefined, zipping))
  .map(([some, last]) => (last === undefined ? some : [...some, last]))

/** The expected output, decompressed if it is compressed. */
export function plainly(own: readonly Twin[], body: Buffer): Buffer {
  return own.reduce((bytes, { plain }) => plain(bytes), body)
}

export function readBack(own: readonly Twin[], body: Buffer): Buffer {
  return own.reduceRight((bytes, { read }) => (read === undefined ? bytes : read(bytes)), body)
}

/** Splits the body into pieces and repeats these lengths until the end. */
export function inPiecesOf(body: Buffer, lengths: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0, i = 0; at < body.length; i++) {
    const length = lengths[i % lengths.length] ?? 1
    pieces.push(body.subarray(at, at + length))
    at += length
  }
  return pieces
}
