import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'

/** Returns the ClientHello that Node's own client sends. */
export async function realHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, host: '127.0.0.1', ...options })
  client.on('error', () => {})
  const [socket] = await once(server, 'connection')
  const [bytes] = await once(socket, 'data')
  client.destroy()
  socket.destroy()
  server.close()
  return bytes
}

export interface HelloParts {
  readonly version?: number
  readonly session?: Buffer
  readonly suites?: Buffer
  readonly compressions?: Buffer
  /** Undefined if the message ends before the extensions. */
  readonly extensions?: readonly (readonly [number, Buffer])[] | undefined
  readonly trailing?: Buffer
}

export function uint(value: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  bytes.writeUIntBE(value, 0, size)
  return bytes
}

/** A value prefixed with its length. */
export function vector(size: number, ...parts: readonly Buffer[]): Buffer {
  const all = Buffer.concat(parts)
  return Buffer.concat([uint(all.length, size), all])
}

/** A complete handshake message without a record layer. */
export function helloMessage(parts: HelloParts = {}): Buffer {
  const extensions = parts.extensions?.map(([kind, value]) =>
    Buffer.concat([uint(kind, 2), vector(2, value)]),
  )
  const body = Buffer.concat([
    uint(parts.version ?? 0x0303, 2),
    Buffer.alloc(32, 7),
    vector(1, parts.session ?? Buffer.alloc(32, 9)),
    vector(2, parts.suites ?? Buffer.from([0x13, 1, 0x13, 2])),
    vector(1, parts.compressions ?? Buffer.from([0])),
    extensions === undefined ? Buffer.alloc(0) : vector(2, ...extensions),
    parts.trailing ?? Buffer.alloc(0),
  ])
  return Buffer.concat([uint(1, 1), vector(3, body)])
}

/** Splits a message into records of `size` bytes each. */
export function inRecords(message: Buffer, size = 16_384): Buffer {
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const fragment = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1]), vector(2, fragment))
  }
  return Buffer.concat(records)
}

export function serverName(name: string | Buffer, kind = 0): readonly [number, Buffer] {
  const bytes = typeof name === 'string' ? Buffer.from(name, 'latin1') : name
  return [0, vector(2, Buffer.from([kind]), vector(2, bytes))]
}

export function alpn(...names: readonly string[]): readonly [number, Buffer] {
  return [16, vector(2, ...names.map((name) => vector(1, Buffer.from(name, 'latin1'))))]
}

export function versions(...numbers: readonly number[]): readonly [number, Buffer] {
  return [43, vector(1, ...numbers.map((number) => uint(number, 2)))]
}
