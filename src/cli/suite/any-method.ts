import { createServer, METHODS, type RequestListener, type Server } from 'node:http'
import { createServer as createTcp, type Socket, type Server as TcpServer } from 'node:net'

/**
 * An HTTP/1.1 server that accepts every method, as most backends do: Node's server only knows a
 * list and rejects others with 400. Each connection carries one request, whose method is replaced
 * with one that Node knows.
 */
export class AnyMethodServer {
  readonly #http: Server
  readonly #tcp: TcpServer
  readonly #sockets = new Set<Socket>()
  readonly #methods = new WeakMap<Socket, string>()

  constructor(listener: (method: string, ...args: Parameters<RequestListener>) => void) {
    this.#http = createServer((request, response) => {
      const { method = '', socket } = request
      response.shouldKeepAlive = false
      listener(this.#methods.get(socket) ?? method, request, response)
    })
    this.#tcp = createTcp((socket) => this.#accept(socket))
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#tcp.listen(0, '127.0.0.1', resolve))
    return (this.#tcp.address() as { readonly port: number }).port
  }

  close(): void {
    this.#tcp.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    let begun: Buffer = Buffer.alloc(0)
    const read = (bytes: Buffer) => {
      begun = Buffer.concat([begun, bytes])
      const end = begun.indexOf(' ')
      if (end < 0) return
      socket.off('data', read)
      socket.pause()
      socket.unshift(this.#known(socket, begun, end))
      this.#http.emit('connection', socket)
      socket.resume()
    }
    socket.on('data', read)
  }

  #known(socket: Socket, begun: Buffer, end: number): Buffer {
    const method = begun.toString('latin1', 0, end)
    if (METHODS.includes(method)) return begun
    this.#methods.set(socket, method)
    return Buffer.concat([Buffer.from('POST'), begun.subarray(end)])
  }
}
