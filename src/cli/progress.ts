import { writeSync } from 'node:fs'
import { Worker } from 'node:worker_threads'

/** Milliseconds without output until progress is shown, and between updates. */
const PERIOD = 1_000
const [IDLE, WRITING, STOPPED] = [0, 1, 2]
const CLEAR = '\r\x1b[K'

/** Runs in a separate thread, as long work blocks the main one. [0]: see above; [1]: is shown. */
const SHOW = `
const { workerData: { name, state, period, clear } } = require('node:worker_threads')
const { writeSync } = require('node:fs')
for (let seconds = 1; ; seconds++) {
  if (Atomics.wait(state, 0, ${IDLE}, period) !== 'timed-out') break
  if (Atomics.compareExchange(state, 0, ${IDLE}, ${WRITING}) !== ${IDLE}) break
  try {
    writeSync(2, clear + name + ': working, ' + seconds + ' s')
  } catch {}
  state[1] = 1
  Atomics.store(state, 0, ${IDLE})
  Atomics.notify(state, 0)
}
`

/** Prints `portcullis diff: working, 3 s` to standard error after one second, until stopped. */
export function startProgress(name: string): () => void {
  const state = new Int32Array(new SharedArrayBuffer(8))
  const workerData = { name, state, period: PERIOD, clear: CLEAR }
  const worker = new Worker(SHOW, { eval: true, workerData })
  worker.unref()
  // This must not make a command fail.
  worker.on('error', () => {})
  return () => {
    for (;;) {
      const before = Atomics.compareExchange(state, 0, IDLE, STOPPED)
      if (before === STOPPED) return
      if (before === IDLE) break
      Atomics.wait(state, 0, WRITING, PERIOD)
    }
    Atomics.notify(state, 0)
    if (state[1] === 1) writeSync(2, CLEAR)
  }
}
