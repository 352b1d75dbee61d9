import { statSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'

/** Where V8 was told anything by hand, it is left as it is. */
const isOurs = process.execArgv.length === 0 && process.env['NODE_OPTIONS'] === undefined

/** A file that takes longer to read than it takes to compile for it, in bytes. */
const LONG = 128 * 1024

/**
 * While a process starts, nearly all that is made stays, and little is run twice. V8 would take
 * room for short-lived objects all the same, and load its optimizing compiler for what is over
 * before it helps: together a tenth of the memory of an idle gateway. tools/bundle/start.ts begins
 * with this.
 */
export function beginFrugally(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-turbofan')
}

/** A long file is worth the compiler from its first line on. */
export function prepareFor(file: string): void {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > LONG) allowCompiler()
}

/** For traffic, which runs the same all the time and makes little else than short-lived objects. */
export function endFrugally(): void {
  if (!isOurs) return
  setFlagsFromString('--semi-space-growth-factor=2')
  allowCompiler()
}

function allowCompiler(): void {
  if (isOurs) setFlagsFromString('--turbofan')
}
