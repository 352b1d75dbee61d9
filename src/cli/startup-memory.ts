import { setFlagsFromString } from 'node:v8'

/** Where V8 was told anything by hand, it is left as it is. */
const isOurs = process.execArgv.length === 0 && process.env['NODE_OPTIONS'] === undefined

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

/**
 * For a change of the configuration, which runs once and makes way for traffic: what the compiler
 * made of its code would be ready when it is over, and until then it would take half of a core.
 */
export async function withoutOptimization<T>(work: () => Promise<T>): Promise<T> {
  if (isOurs) setFlagsFromString('--no-turbofan')
  try {
    return await work()
  } finally {
    if (isOurs) setFlagsFromString('--turbofan')
  }
}
