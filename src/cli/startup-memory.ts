import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, type HeapSpaceInfo, setFlagsFromString } from 'node:v8'

/** Where V8 was told anything by hand, it is left as it is. */
export const isOurs: boolean =
  process.execArgv.length === 0 && process.env['NODE_OPTIONS'] === undefined

/** Bytes of the space for short-lived objects beyond which it does not grow. */
const ENOUGH_YOUNG_SPACE = 4 * 1024 * 1024
/** Collections of that space after which there is traffic: some 10,000 requests. */
const BUSY = 20
let isBounded = false
let changes = 0

/**
 * While a process starts, nearly all that is made stays, and little is run twice. V8 would take
 * room for short-lived objects all the same, and load its optimizing compiler for what is over
 * before it helps: together a tenth of the memory of an idle gateway. tools/bundle/start.ts begins
 * with this.
 */
export function deferOptimization(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-turbofan')
  // As much as V8 gives to a busy heap: one that rests most of the time is given next to nothing,
  // and a change of the configuration, which doubles it, would be held up again and again.
  setFlagsFromString('--heap-growing-percent=300')
}

/** For traffic, which runs the same all the time and makes little else than short-lived objects. */
export function resumeOptimization(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=2')
  setFlagsFromString('--turbofan')
}

/** From the first configuration on that is served. */
export function optimizeForTraffic(): void {
  resumeOptimization()
  boundYoungSpace()
}

/**
 * Keeps V8's space for short-lived objects small while a gateway serves. Left alone it grows to
 * 48 MB, and each collection is as long as what it copies: objects of a request are gone within
 * milliseconds, so a small one costs no more CPU. Its limit is a flag that V8 reads once, before any
 * code runs; by how much it grows is one that it reads each time.
 */
function boundYoungSpace(): void {
  if (!isOurs || isBounded) return
  isBounded = true
  let collections = 0
  // V8 makes the space smaller in idle times: then it may grow again.
  const adjust = () => {
    const factor = youngSpace().space_size < ENOUGH_YOUNG_SPACE ? 2 : 1
    setFlagsFromString(`--semi-space-growth-factor=${factor}`)
    if (changes === 0 && ++collections === BUSY) keepCode()
  }
  adjust()
  new PerformanceObserver(adjust).observe({ entryTypes: ['gc'] })
}

/**
 * Once there is traffic, V8 collects the whole heap only where it needs room, and no longer to make
 * the heap smaller, as it does some time after each such collection. That drops the shapes of objects
 * that do not exist at that moment, as between two requests, and all code that was optimized for
 * them: thousands of requests would wait for the compiler again. A gateway that was never busy still
 * gives back what it needed to start.
 */
function keepCode(): void {
  // Older versions do not know the flag, and print an error.
  if (Number.parseInt(process.versions.node, 10) >= 26)
    setFlagsFromString('--memory-reducer-gc-count=0')
}

/** The space for short-lived objects. */
export function youngSpace(): HeapSpaceInfo {
  const spaces = getHeapSpaceStatistics()
  return spaces.find(({ space_name }) => space_name === 'new_space') as HeapSpaceInfo
}

/**
 * For a change of the configuration, which runs once and makes way for traffic: what the compiler
 * made of its code would be ready when it is over, and until then it would take half of a core.
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
