import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestServer } from './postgres.ts'

/** A proxy in front of a database, which can make it slow, unavailable, or replace it. */
export interface HeldProxy {
  /** The number of bytes that the database sent to all clients. */
  readonly bytes: () => number
  /** Replaces the host of a database URL with the address of this proxy. */
  readonly urlOf: (url: string) => string
  /** Delivers nothing from either side until `release`. */
  readonly hold: () => void
  readonly release: () => void
  /** Redirects the address to another server; open connections break. */
  readonly lead: (server: TestServer) => void
  readonly close: () => Promise<void>
}

/** `at`: the address to listen on; by default any free port of this machine. */
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
