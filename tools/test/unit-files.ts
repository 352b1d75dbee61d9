import { globSync } from 'node:fs'

/** The unit tier: tests that need nothing but what npm installs. */
const UNIT = [
  '{src,tools}/**/*.test.ts',
  'test/*.test.ts',
  'test/{architecture,conformance,corpus,fuzz,night,soak}/*.test.ts',
]

export function unitFiles(): readonly string[] {
  return globSync(UNIT).sort()
}
