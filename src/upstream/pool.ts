import { connect, type Socket } from 'node:net'
import type { Deadlines } from '../wire/deadlines.ts'
import { ClientConnection } from '../wire/http1/client-connection.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'

export interface PoolOptions {
  readonly connectTimeout: number
  readonly idleTimeout: number
  /** Connections at the same time; more requests wait. */
  readonly most: number
}

/** Who waits for a connection. */
export interface Waiting {
  connected(connection: UpstreamConnection): void
  unconnected(reason: string): void
}

/** Connections to one address, the last one used first, so that the others can be closed. */
export class Pool {
  readonly #open: () => Socket
  readonly #options: PoolOptions
  readonly #deadlines: Deadlines
  readonly #idle: ClientConnection[] = []
  readonly #waiting: Waiting[] = []
  #count = 0

  constructor(open: () => Socket, options: PoolOptions, deadlines: Deadlines) {
    this.#open = open
    this.#options = options
    this.#deadlines = deadlines
  }

  /** A connection that is free now, or undefined: then ask for one to be opened. */
  take(): ClientConnection | undefined {
    const connection = this.#idle.pop()
    if (connection !== undefined) connection.deadline = Number.POSITIVE_INFINITY
    return connection
  }

  request(waiting: Waiting): void {
    if (this.#count >= this.#options.most) {
      this.#waiting.push(waiting)
      return
    }
    this.#count++
    const socket = this.#open()
    socket.setNoDelay(true)
    const timer = setTimeout(() => fail('connect-timeout'), this.#options.connectTimeout)
    const fail = (reason: string) => {
      clearTimeout(timer)
      this.#count--
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.destroy()
      waiting.unconnected(reason)
      this.#next()
    }
    socket.once('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'connect-error'))
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.removeAllListeners('error')
      const connection = new ClientConnection(socket, this.#deadlines)
      connection.onIdle = (own) => this.#free(own)
      connection.onClose = (own) => this.#gone(own)
      waiting.connected(connection)
    })
  }

  cancel(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  close(): void {
    for (const connection of [...this.#idle]) connection.abort()
  }

  #free(connection: ClientConnection): void {
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) {
      waiting.connected(connection)
      return
    }
    connection.deadline = performance.now() + this.#options.idleTimeout
    this.#idle.push(connection)
  }

  #gone(connection: ClientConnection): void {
    this.#count--
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    this.#next()
  }

  #next(): void {
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) this.request(waiting)
  }
}

export function tcpSocket(host: string, port: number): () => Socket {
  return () => connect({ host, port, noDelay: true, allowHalfOpen: true })
}
