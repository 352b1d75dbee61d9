import { setFlagsFromString } from 'node:v8'

/**
 * V8 takes more room for short-lived objects the more of them there are. While a process starts,
 * nearly all that is made stays, so that the room would only be memory that nobody uses:
 * tools/bundle/start.ts holds it back from the first line on.
 */
export function holdYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** For traffic, which makes little else than short-lived objects. */
export function releaseYoungSpace(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
}
