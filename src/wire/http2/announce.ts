import { getPackedSettings, type Settings } from 'node:http2'
import type { Socket } from 'node:net'

const SETTINGS = 4
/** A type that is reserved for being ignored: RFC 9113 §5.5 has every client do so. */
const IGNORED = 0xe4

/**
 * Tells the client how many streams it may open, and then `next` the settings for node:http2, which
 * allow more. It holds its own count to the number that it sends, but still counts streams
 * that were closed in the same read: a client that ends its streams and opens others in one write
 * would be reset with ENHANCE_YOUR_CALM, though it kept to the limit.
 *
 * So the first SETTINGS frame is ours. The one of node:http2 is sent as the payload of a frame that
 * clients ignore; the acknowledgement of ours is taken for that of its own.
 */
export function announceStreams(
  socket: Socket,
  streams: number,
  allowed: number,
  settings: Settings,
  next: (settings: Settings) => void,
): void {
  const told = getPackedSettings({ ...settings, maxConcurrentStreams: streams })
  const own = { ...settings, maxConcurrentStreams: allowed }
  const hidden = 9 + getPackedSettings(own).length
  const frames = Buffer.concat([frameHead(SETTINGS, told.length), told, frameHead(IGNORED, hidden)])
  // TLS takes one write at a time, and aborts the process where node:http2 begins a second one.
  socket.write(frames, () => next(own))
}

function frameHead(type: number, length: number): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(length, 0, 3)
  head[3] = type
  return head
}
