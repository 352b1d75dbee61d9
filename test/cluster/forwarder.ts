import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A port that forwards to another one, until it is cut. */
export class Forwarder {
  readonly #target: number
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  port = 0

  constructor(target: number) {
    this.#target = target
  }

  async open(): Promise<void> {
    const server = createServer((socket) => {
      const other = connect(this.#target, '127.0.0.1')
      for (const one of [socket, other]) {
        this.#sockets.add(one)
        one.on('close', () => this.#sockets.delete(one))
        one.on('error', () => {})
      }
      socket.on('close', () => other.destroy())
      other.on('close', () => socket.destroy())
      socket.pipe(other).pipe(socket)
    })
    server.listen(this.port, '127.0.0.1')
    await once(server, 'listening')
    this.port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Breaks open connections, and rejects new ones. */
  async cut(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve))
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }
}
