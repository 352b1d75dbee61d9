// HOT PATH: the output that all streams of a connection write to. Guarded by bench/proxy.ts.
// Liberties: everything that is written in one pass over I/O events leaves in one write.

import type { Socket } from 'node:net'
import type { FloodGuard } from './flood-guard.ts'
import { FrameOutput } from './frame-output.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import type { PeerSettings } from './peer-settings.ts'
import { inOrder } from './priority.ts'
import { DEFAULT_WINDOW, MAX_WINDOW } from './protocol.ts'
import type { SharedOutput, StreamOutput } from './stream-output.ts'

/** Every so many rounds, the streams that waited longest come first, regardless of priority. */
const FAIR_ROUND = 8

/** Implemented by the owner of the streams. */
export interface OutputEvents {
  sent(output: StreamOutput): void
  drained(output: StreamOutput): void
}

export class ConnectionOutput implements SharedOutput {
  readonly frames: FrameOutput
  readonly encoder: HpackEncoder
  window: number = DEFAULT_WINDOW
  served = 0
  readonly #socket: Socket
  readonly #peer: PeerSettings
  readonly #guard: FloodGuard
  readonly #events: OutputEvents
  readonly #broke: (error: unknown) => void
  #flushing: StreamOutput[] = []
  #waiting = new Set<StreamOutput>()
  #isScheduled = false
  #rounds = 0

  constructor(
    socket: Socket,
    peer: PeerSettings,
    guard: FloodGuard,
    events: OutputEvents,
    encoder: HpackEncoder,
    broke: (error: unknown) => void,
  ) {
    this.encoder = encoder
    this.frames = new FrameOutput(socket)
    this.#socket = socket
    this.#peer = peer
    this.#guard = guard
    this.#events = events
    this.#broke = broke
  }

  get maxFrame(): number {
    return this.#peer.frame
  }

  get isCongested(): boolean {
    return this.#socket.writableNeedDrain
  }

  schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#leave)
  }

  flushLater(output: StreamOutput): void {
    this.#flushing.push(output)
    this.schedule()
  }

  wait(output: StreamOutput): void {
    this.#waiting.add(output)
  }

  sent(output: StreamOutput): void {
    this.#events.sent(output)
  }

  drained(output: StreamOutput): void {
    this.#events.drained(output)
  }

  /** The peer extended the connection window; returns false if it is too large. */
  grow(bytes: number): boolean {
    this.window += bytes
    if (this.window > MAX_WINDOW) return false
    this.pump()
    return true
  }

  /** There may be room again: waiting streams continue. */
  pump(): void {
    if (this.#waiting.size === 0) return
    const waiting = this.#waiting
    this.#waiting = new Set()
    if (waiting.size === 1) for (const output of waiting) output.pump()
    else {
      const isFair = ++this.#rounds % FAIR_ROUND === 0
      for (const output of inOrder(waiting, isFair)) output.pump()
    }
  }

  /** The same for one stream. */
  pumpOne(output: StreamOutput): void {
    if (this.#waiting.delete(output)) output.pump()
  }

  /** Writes all pending frames to the socket. */
  write(): void {
    const { frames } = this
    if (frames.length > 0) this.#guard.expect(frames.length, frames.hasMessages)
    if (!this.#socket.destroyed && !this.#socket.writableEnded) frames.write()
  }

  readonly #leave = (): void => {
    this.#isScheduled = false
    try {
      const flushing = this.#flushing
      if (flushing.length > 0) {
        this.#flushing = []
        for (const output of flushing) output.flush()
      }
      this.write()
    } catch (error) {
      this.#broke(error)
    }
  }
}
