// HOT PATH: batches body pieces that arrive together into one write. Guarded by bench/http2.ts.

import type { Socket } from 'node:net'

const corked: Socket[] = []
let isScheduled = false

/**
 * Corks `socket` until the read bytes are processed, or else until the next tick, so that all its
 * writes leave at once.
 */
export function gatherWrites(socket: Socket): void {
  if (socket.writableCorked > 0) return
  socket.cork()
  corked.push(socket)
  if (isScheduled) return
  isScheduled = true
  process.nextTick(leaveInTick)
}

/** Called before the read buffer is reused: written bytes no longer need it. */
export function leaveGathered(): void {
  for (let socket = corked.pop(); socket !== undefined; socket = corked.pop()) socket.uncork()
}

function leaveInTick(): void {
  isScheduled = false
  leaveGathered()
}
