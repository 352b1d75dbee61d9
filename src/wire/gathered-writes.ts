// HOT PATH: pieces of bodies that come together leave together. Guarded by bench/http2.ts.

import type { Socket } from 'node:net'

const corked: Socket[] = []
let isScheduled = false

/** What is written to `socket` leaves in one write when what was read is received, or in the next tick. */
export function gatherWrites(socket: Socket): void {
  if (socket.writableCorked > 0) return
  socket.cork()
  corked.push(socket)
  if (isScheduled) return
  isScheduled = true
  process.nextTick(leaveInTick)
}

/** Before the buffer that was read to is used again: what has left needs it no longer. */
export function leaveGathered(): void {
  for (let socket = corked.pop(); socket !== undefined; socket = corked.pop()) socket.uncork()
}

function leaveInTick(): void {
  isScheduled = false
  leaveGathered()
}
