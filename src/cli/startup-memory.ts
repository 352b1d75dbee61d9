import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, type HeapSpaceInfo, setFlagsFromString } from 'node:v8'

/** False if V8 or Node options are set manually: V8 is left unchanged. */
export const isOurs: boolean =
  process.execArgv.length === 0 && process.env['NODE_OPTIONS'] === undefined

/** The new space does not grow beyond this many bytes. */
const ENOUGH_YOUNG_SPACE = 4 * 1024 * 1024
/** The number of collections of the new space that indicates traffic: about 10,000 requests. */
const BUSY = 20
let isBounded = false
let changes = 0

/**
 * During startup, almost all objects stay alive, and little code runs twice. By default, V8 would
 * still reserve space for short-lived objects, and load its optimizing compiler for code that
 * finishes before it helps: together a tenth of the memory of an idle gateway.
 * tools/bundle/start.ts calls this first.
 */
export function deferOptimization(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-turbofan')
  // The factor that V8 uses for a busy heap. V8 lets a mostly idle heap grow very little, and would
  // interrupt a configuration change, which doubles the heap, again and again.
  setFlagsFromString('--heap-growing-percent=300')
}

/** For traffic, which runs the same code all the time and creates mostly short-lived objects. */
export function resumeOptimization(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=2')
  setFlagsFromString('--turbofan')
}

/** Called when the first configuration is served. */
export function optimizeForTraffic(): void {
  resumeOptimization()
  boundYoungSpace()
}

/**
 * Keeps V8's space for short-lived objects (new space) small while a gateway serves. By default, it
 * grows to 48 MB, and the duration of a collection depends on how much it copies: objects of a
 * request die within milliseconds, so a small space costs no more CPU. V8 reads the flag for the
 * limit only once, before any code runs, but reads the growth factor each time.
 */
function boundYoungSpace(): void {
  if (!isOurs || isBounded) return
  isBounded = true
  let collections = 0
  // V8 shrinks the space when idle; it may then grow again.
  const adjust = () => {
    const factor = youngSpace().space_size < ENOUGH_YOUNG_SPACE ? 2 : 1
    setFlagsFromString(`--semi-space-growth-factor=${factor}`)
    if (changes === 0 && ++collections === BUSY) keepCode()
  }
  adjust()
  new PerformanceObserver(adjust).observe({ entryTypes: ['gc'] })
}

/**
 * Once there is traffic, V8 collects the whole heap only if it needs space, and no longer to shrink
 * the heap, which it does some time after each such collection. Shrinking drops the shapes of
 * objects that do not exist at that moment, such as between two requests, and all code optimized
 * for them: thousands of requests would wait for the compiler again. A gateway that was never busy
 * still releases the memory that it needed to start.
 */
function keepCode(): void {
  // Older versions do not support the flag and print an error.
  if (Number.parseInt(process.versions.node, 10) >= 26)
    setFlagsFromString('--memory-reducer-gc-count=0')
}

/** V8's space for short-lived objects. */
export function youngSpace(): HeapSpaceInfo {
  const spaces = getHeapSpaceStatistics()
  return spaces.find(({ space_name }) => space_name === 'new_space') as HeapSpaceInfo
}

/**
 * For a configuration change, which runs once and yields to traffic: its optimized code would be
 * ready only when the change is over, and until then the compiler would use half a core.
 */
export async function withoutOptimization<T>(work: () => Promise<T>): Promise<T> {
  if (isOurs) setFlagsFromString('--no-turbofan')
  changes++
  try {
    return await work()
  } finally {
    changes--
    if (isOurs) setFlagsFromString('--turbofan')
  }
}
