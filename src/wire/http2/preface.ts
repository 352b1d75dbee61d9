import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'

/** RFC 9113 §3.4: what a client that knows of HTTP/2 sends first. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')

/** Whether a connection begins with HTTP/2; undefined where that needs more of it. */
export function isPreface(bytes: Buffer): boolean | undefined {
  const length = Math.min(bytes.length, PREFACE.length)
  if (PREFACE.compare(bytes, 0, length, 0, length) !== 0) return false
  return length === PREFACE.length ? true : undefined
}

/**
 * Decides by its first octets what a plain connection speaks, and leaves them for whoever takes
 * it. A connection that closes or says nothing in time is nobody's.
 */
export function choosePlain(
  socket: Socket,
  deadlines: Deadlines,
  timeout: number,
  chosen: (isHttp2: boolean) => void,
): void {
  let held = Buffer.alloc(0)
  const timed: Timed = {
    deadline: performance.now() + timeout,
    expire: () => socket.destroy(),
  }
  const settle = () => {
    deadlines.remove(timed)
    socket.off('data', onData).off('close', settle).off('end', onEnd).off('error', onError)
  }
  const onError = () => socket.destroy()
  const onEnd = () => socket.destroy()
  const onData = (bytes: Buffer) => {
    held = held.length === 0 ? Buffer.from(bytes) : Buffer.concat([held, bytes])
    const isHttp2 = isPreface(held)
    if (isHttp2 === undefined) return
    socket.pause()
    settle()
    socket.unshift(held)
    chosen(isHttp2)
    // HTTP/2 reads what is held by itself, and beneath the stream what follows.
    if (!isHttp2) socket.resume()
  }
  deadlines.add(timed)
  socket.on('data', onData).on('close', settle).on('end', onEnd).on('error', onError)
}
