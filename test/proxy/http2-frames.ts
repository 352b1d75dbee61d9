import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { HEADERS, RST_STREAM } from './http2-gateway.ts'

const GOAWAY = 7

/**
 * The received frames, as `type code`, until there are `enough` of them or the peer closes;
 * includes frames that arrive directly after them.
 */
export async function framesOf(
  socket: Socket,
  enough: (frames: readonly string[]) => boolean = () => false,
): Promise<readonly string[]> {
  let held = Buffer.alloc(0)
  const closed = once(socket, 'close')
  const arrived = new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      held = Buffer.concat([held, bytes])
      if (enough(framesIn(held))) resolve()
    })
  })
  await Promise.race([
    closed,
    arrived.then(() => wait(100)),
    wait(30_000, undefined, { ref: false }),
  ])
  socket.destroy()
  return framesIn(held)
}

function framesIn(bytes: Buffer): readonly string[] {
  const frames: string[] = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const length = bytes.readUIntBE(at, 3)
    const type = bytes[at + 3] as number
    if (at + 9 + length > bytes.length) break
    const payload = bytes.subarray(at + 9, at + 9 + length)
    if (type === GOAWAY) frames.push(`goaway ${payload.readUInt32BE(4)}`)
    else if (type === RST_STREAM) frames.push(`reset ${payload.readUInt32BE(0)}`)
    else if (type === HEADERS) frames.push(`headers ${bytes.readUInt32BE(at + 5)}`)
    at += 9 + length
  }
  return frames
}
