import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Connection } from '../exchange/connection.ts'
import type { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { Attempt } from '../upstream/cluster.ts'
import type { Dialing } from '../upstream/connect.ts'
import type { Deadlines, Timed } from '../wire/deadlines.ts'
import type { AcceptedSocket } from './accept-deps.ts'
import type { StreamEnd, Streamed, StreamTarget } from './stream-types.ts'

const MAX_ATTEMPTS = 3

/** Forwards the bytes of a client to a backend and back, unchanged. */
export function serveStream(
  permit: Permit<'connection'>,
  accepted: AcceptedSocket,
  listener: ListenerProgram,
  socket: Socket,
  connection: Connection,
  target: StreamTarget,
): void {
  const { boundPort, plan } = accepted
  const { observer, deadlines, acceptDeps } = boundPort
  const again = (tried: readonly string[]) => acceptDeps.route(listener, connection, tried)
  observer.opened(connection)
  accepted.serves(plan.kind === 'tls' ? 'tls' : 'tcp')
  const over = (streamed: Streamed) => {
    const reason = accepted.isCut ? 'draining' : streamed.reason
    accepted.closedBy ??= reason === 'draining' ? 'drain' : reason
    accepted.guard('telemetry', () => {
      observer.streamed(connection, listener, { ...streamed, reason })
      observer.closed(connection)
    })
  }
  const broke = (error: unknown) => accepted.broke('stream', error)
  const stream = new Stream(permit, socket, target, again, plan.streamIdle, deadlines, over, broke)
  accepted.served = stream
  stream.start()
}

class Stream implements Timed {
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  readonly #permit: Permit<'connection'>
  readonly #client: Socket
  #upstream: Socket | undefined = undefined
  #target: StreamTarget
  readonly #again: (tried: readonly string[]) => StreamTarget | string
  readonly #tried: string[] = []
  readonly #idle: number
  readonly #deadlines: Deadlines
  readonly #over: (streamed: Streamed) => void
  readonly #broke: (error: unknown) => void
  readonly #startedAt = performance.now()
  #dialing: Dialing | undefined = undefined
  #received = 0
  #sent = 0
  /** The number of sides that ended properly. */
  #whole = 0
  #isOver = false

  constructor(
    permit: Permit<'connection'>,
    client: Socket,
    target: StreamTarget,
    again: (tried: readonly string[]) => StreamTarget | string,
    idle: number,
    deadlines: Deadlines,
    over: (streamed: Streamed) => void,
    broke: (error: unknown) => void,
  ) {
    this.#permit = permit
    this.#client = client
    this.#target = target
    this.#again = again
    this.#idle = idle
    this.#deadlines = deadlines
    this.#over = over
    this.#broke = broke
  }

  start(): void {
    this.#watch(this.#client, 'client', 'cancelled')
    this.#dial()
  }

  /** The protocol has no way to request an end: it may continue until the grace period is over. */
  drain(): void {}

  expire(): void {
    this.#end('idle', 'idle', 'responded')
  }

  /** An exception in an event of either socket ends only this stream. */
  #guard(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (this.#isOver) return
      this.#broke(error)
      this.#end('error', 'internal', 'cancelled')
    }
  }

  #dial(): void {
    this.#dialing = this.#target.dial(this.#permit, {
      opened: (socket) => this.#guard(() => this.#join(socket)),
      failed: (reason) => this.#guard(() => this.#unreached(reason)),
    })
  }

  #unreached(reason: string): void {
    this.#dialing = undefined
    this.#tried.push(this.#target.endpoint)
    const next = this.#tried.length < MAX_ATTEMPTS ? this.#again(this.#tried) : 'tried'
    const isOther = typeof next !== 'string' && !this.#tried.includes(next.endpoint)
    if (!isOther) {
      if (typeof next !== 'string') next.done(CANCELLED)
      this.#end('upstream', reason, 'connect-failed')
      return
    }
    this.#target.done({ outcome: 'connect-failed', status: 0, duration: this.#age() })
    this.#target = next
    this.#dial()
  }

  #join(upstream: Socket): void {
    this.#dialing = undefined
    this.#upstream = upstream
    this.#watch(upstream, 'upstream', 'reset')
    this.#touch()
    this.#deadlines.add(this)
    this.#carry(this.#client, upstream, (length) => {
      this.#received += length
    })
    this.#carry(upstream, this.#client, (length) => {
      this.#sent += length
    })
  }

  /** Forwards one direction. While one end does not accept more, the other one is not read. */
  #carry(from: Socket, to: Socket, count: (length: number) => void): void {
    from.on('data', (bytes: Buffer) => {
      count(bytes.length)
      this.#touch()
      if (!to.write(bytes)) from.pause()
    })
    to.on('drain', () => {
      this.#touch()
      from.resume()
    })
    // A half that is closed is closed on the other side, too; the other half continues.
    if (from.readableEnded) to.end()
    else from.on('end', () => to.end())
    from.resume()
  }

  /** Ends the stream when both sides are finished and everything was sent, or when one breaks. */
  #watch(socket: Socket, who: 'client' | 'upstream', outcome: Attempt['outcome']): void {
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#end(who, error.code ?? 'error', outcome)
    })
    socket.on('close', () => {
      const isWhole = socket.readableEnded && socket.writableFinished
      if (!isWhole) this.#end(who, 'closed', outcome)
      else if (++this.#whole === 2) this.#end('finished', '', 'responded')
    })
  }

  #touch(): void {
    this.deadline = performance.now() + this.#idle
  }

  #age(): number {
    return performance.now() - this.#startedAt
  }

  #end(reason: StreamEnd, detail: string, outcome: Attempt['outcome']): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#deadlines.remove(this)
    this.#dialing?.cancel()
    if (reason !== 'finished') {
      cut(this.#client)
      if (this.#upstream !== undefined) cut(this.#upstream)
    }
    const milliseconds = this.#age()
    const { backend, endpoint } = this.#target
    try {
      this.#target.done({ outcome, status: 0, duration: milliseconds })
    } catch (error) {
      this.#broke(error)
    }
    this.#over({
      reason,
      detail,
      backend,
      endpoint,
      bytesReceived: this.#received,
      bytesSent: this.#sent,
      milliseconds,
    })
  }
}

/** An incomplete stream must not look complete: it is reset, not ended. */
function cut(socket: Socket): void {
  if (socket instanceof TLSSocket || socket.remoteAddress === undefined) socket.destroy()
  else socket.resetAndDestroy()
}

const CANCELLED: Attempt = { outcome: 'cancelled', status: 0, duration: 0 }
