import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { listen } from './harness.ts'

export const TEXT = 1
export const BINARY = 2
export const CLOSE = 8
export const PING = 9
export const PONG = 10

export interface Frame {
  readonly opcode: number
  readonly isFinal: boolean
  readonly isMasked: boolean
  readonly payload: Buffer
}

/** Encodes one frame; with a mask, as clients must send it. */
export function frameOf(opcode: number, payload: Buffer, mask?: Buffer, isFinal = true): Buffer {
  const { length } = payload
  const extended = length < 126 ? 0 : length < 65_536 ? 2 : 8
  const head = Buffer.alloc(2 + extended)
  head[0] = (isFinal ? 0x80 : 0) | opcode
  head[1] = (mask === undefined ? 0 : 0x80) | (extended === 0 ? length : extended === 2 ? 126 : 127)
  if (extended === 2) head.writeUInt16BE(length, 2)
  if (extended === 8) head.writeBigUInt64BE(BigInt(length), 2)
  if (mask === undefined) return Buffer.concat([head, payload])
  return Buffer.concat([head, mask, masked(payload, mask)])
}

function masked(payload: Buffer, mask: Buffer): Buffer {
  return Buffer.from(payload.map((byte, i) => byte ^ (mask[i % 4] as number)))
}

/** Calls back with each frame, regardless of how its bytes are split. */
export function frameReader(found: (frame: Frame) => void): (bytes: Buffer) => void {
  let held: Buffer = Buffer.alloc(0)
  return (bytes) => {
    held = Buffer.concat([held, bytes])
    for (;;) {
      if (held.length < 2) return
      const [first = 0, second = 0] = held
      const short = second & 0x7f
      const extended = short < 126 ? 0 : short === 126 ? 2 : 8
      const isMasked = (second & 0x80) !== 0
      const start = 2 + extended + (isMasked ? 4 : 0)
      if (held.length < start) return
      const length =
        extended === 0
          ? short
          : extended === 2
            ? held.readUInt16BE(2)
            : Number(held.readBigUInt64BE(2))
      if (held.length < start + length) return
      const raw = held.subarray(start, start + length)
      const mask = held.subarray(start - 4, start)
      held = held.subarray(start + length)
      const payload = isMasked ? masked(raw, mask) : Buffer.from(raw)
      found({ opcode: first & 0xf, isFinal: (first & 0x80) !== 0, isMasked, payload })
    }
  }
}

export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64')
}

export interface WebSocketPeer {
  readonly port: number
  readonly sockets: ReadonlySet<Socket>
  readonly requests: readonly IncomingMessage[]
  readonly close: () => void
}

/**
 * A minimal WebSocket server, so that it sees exactly what arrived. It echoes messages, responds to
 * PING and CLOSE, and offers the first requested protocol.
 */
export async function startWebSocketPeer(
  opened: (socket: Socket, request: IncomingMessage) => void = () => {},
): Promise<WebSocketPeer> {
  const sockets = new Set<Socket>()
  const requests: IncomingMessage[] = []
  const server = createServer((_, response) => void response.writeHead(426).end('upgrade'))
  server.on('upgrade', (request: IncomingMessage, socket: Socket, rest: Buffer) => {
    requests.push(request)
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('end', () => socket.end())
    socket.on('close', () => sockets.delete(socket))
    const protocol = request.headers['sec-websocket-protocol']?.split(',')[0]
    socket.write(
      [
        'HTTP/1.1 101 Switching Protocols',
        'connection: Upgrade',
        'upgrade: websocket',
        `sec-websocket-accept: ${acceptOf(request.headers['sec-websocket-key'] ?? '')}`,
        ...(protocol === undefined ? [] : [`sec-websocket-protocol: ${protocol}`]),
        '\r\n',
      ].join('\r\n'),
    )
    const read = frameReader(({ opcode, isFinal, payload }) => {
      if (opcode === CLOSE) socket.end(frameOf(CLOSE, payload))
      else if (opcode === PING) socket.write(frameOf(PONG, payload))
      else if (opcode !== PONG) socket.write(frameOf(opcode, payload, undefined, isFinal))
    })
    socket.on('data', read)
    if (rest.length > 0) read(rest)
    opened(socket, request)
  })
  const port = await listen(server)
  const close = () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  }
  return { port, sockets, requests, close }
}
