import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestServer } from './postgres.ts'

/** An address of a database, behind which it may be slow, gone, or another one. */
export interface HeldProxy {
  /** That the database sent, to all clients. */
  readonly bytes: () => number
  /** Of a database of a server, as gateways reach it. */
  readonly urlOf: (url: string) => string
  /** Nothing that either side sends arrives any more, until `release`. */
  readonly hold: () => void
  readonly release: () => void
  /** The address is that of another server from now on; what is open breaks. */
  readonly lead: (server: TestServer) => void
  readonly close: () => Promise<void>
}

/** `at`: where it listens; by default anywhere on this machine. */
export async function startProxy(
  first: TestServer,
  at: { readonly host: string; readonly port: number } = { host: '127.0.0.1', port: 0 },
): Promise<HeldProxy> {
  let path = socketOf(first)
  let isHeld = false
  let bytes = 0
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(path)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from)
      from.on('data', (piece) => {
        if (from === upstream) bytes += piece.length
        to.write(piece)
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
      if (isHeld) from.pause()
    }
  })
  server.listen(at.port, at.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    bytes: () => bytes,
    urlOf: (url) => url.replace(/@[^/]+\//, `@127.0.0.1:${port}/`),
    hold: () => {
      isHeld = true
      for (const socket of open) socket.pause()
    },
    release: () => {
      isHeld = false
      for (const socket of open) socket.resume()
    },
    lead: (other) => {
      path = socketOf(other)
      for (const socket of open) socket.destroy()
    },
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
}

function socketOf({ url }: TestServer): string {
  const [, folder = ''] = /@([^/]+)\//.exec(url) ?? []
  return `${decodeURIComponent(folder)}/.s.PGSQL.5432`
}
