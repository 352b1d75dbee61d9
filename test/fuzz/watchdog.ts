import { Worker } from 'node:worker_threads'

/** Maximum number of bytes of a text that the watchdog can report. */
const ROOM = 1 << 18
/** Maximum CPU time in milliseconds for one text in all modes together, including compilation. */
const LIMIT = 3_000
/** Milliseconds after which a text counts as a hang. */
const HANG = 30_000
/** Replaces the length of the text when no text is being watched. */
const IDLE = -1

/**
 * Watches one text at a time. The caller asserts that a text is not slow. A text that never ends
 * cannot be interrupted from its own thread, so another thread names it on stderr and kills the
 * process.
 */
export function startWatchdog(hang = HANG) {
  const shared = new SharedArrayBuffer(8 + ROOM)
  const state = new Int32Array(shared, 0, 2)
  const bytes = new Uint8Array(shared, 8)
  Atomics.store(state, 1, IDLE)
  const worker = new Worker(GUARD, { eval: true, execArgv: [], workerData: { shared, hang } })
  worker.unref()
  return {
    /** Runs `body`; returns an error message if it exceeded the limit. */
    watch(text: string, body: () => void): string | undefined {
      const encoded = new TextEncoder().encode(text).subarray(0, ROOM)
      bytes.set(encoded)
      Atomics.store(state, 1, encoded.length)
      Atomics.add(state, 0, 1)
      // The minimum of three attempts, since garbage collection is not the fault of the text.
      let min = Number.POSITIVE_INFINITY
      try {
        for (let attempt = 0; attempt < 3 && min > LIMIT; attempt++) {
          const before = process.cpuUsage()
          body()
          const { user, system } = process.cpuUsage(before)
          min = Math.min(min, (user + system) / 1000)
        }
      } finally {
        Atomics.store(state, 1, IDLE)
      }
      return min > LIMIT ? `${min.toFixed(0)} ms of CPU` : undefined
    },
    stop: () => worker.terminate(),
  }
}

const GUARD = `
const { workerData } = require('node:worker_threads')
const state = new Int32Array(workerData.shared, 0, 2)
const bytes = new Uint8Array(workerData.shared, 8)
let turn = 0
let since = Date.now()
setInterval(() => {
  const length = Atomics.load(state, 1)
  const now = Atomics.load(state, 0)
  if (now !== turn || length < 0) { turn = now; since = Date.now() }
  else if (Date.now() - since > workerData.hang) {
    const text = JSON.stringify(Buffer.from(bytes.slice(0, length)).toString())
    require('node:fs').writeSync(2, 'a text that hangs: ' + text + '\\n')
    process.kill(process.pid, 'SIGKILL')
  }
}, workerData.hang / 10)
`
