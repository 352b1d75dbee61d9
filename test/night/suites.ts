import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { missing } from '../cluster/harness.ts'
import type { Command } from './round.ts'

interface Described {
  readonly name: string
  /** The reason why it cannot run on this machine. */
  readonly missing: () => string | undefined
}

/** Draws cases as long as there is time: each round is one file with other seeds. */
export interface ExploringSuite extends Described {
  readonly kind: 'exploring'
  /** Its share of the time, relative to the others. */
  readonly weight: number
  readonly files: readonly string[]
  readonly command: (
    file: string,
    draw: { readonly seed: number; readonly runs: number },
  ) => Command
}

/** Runs from begin to end. */
export interface WholeSuite extends Described {
  readonly kind: 'whole'
  /** How often. */
  readonly times: number
  /** What one time takes on two free cores. */
  readonly seconds: number
  readonly command: Command
}

export type Suite = ExploringSuite | WholeSuite

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const RUNNER = ['--test', '--test-isolation=none', '--test-reporter=./tools/test-reporter.ts']

const node = (...args: readonly string[]): Command => ({
  program: process.execPath,
  args,
  env: {},
})

const drawing = (
  file: string,
  { seed, runs }: { readonly seed: number; readonly runs: number },
): Command => ({
  ...node(...RUNNER, file),
  // What the corpus has is replayed with every change.
  env: { FUZZ_SEED: String(seed), FUZZ_RUNS: String(runs), FUZZ_CORPUS: 'off' },
})

const files = (...patterns: readonly string[]) => globSync(patterns, { cwd: ROOT }).toSorted()

const drawsCases = (file: string) => /\bfuzz\(/.test(readFileSync(join(ROOT, file), 'utf8'))

function without(program: string): string | undefined {
  const { error } = spawnSync(program, ['version'])
  return error === undefined ? undefined : `${program} is not installed`
}

const exploring = (name: string, weight: number, own: readonly string[]): ExploringSuite => ({
  kind: 'exploring',
  name,
  weight,
  files: own,
  command: drawing,
  missing: () => undefined,
})

const whole = (name: string, seconds: number, command: Command): WholeSuite => ({
  kind: 'whole',
  name,
  times: 1,
  seconds,
  command,
  missing: () => undefined,
})

/** The order in which whole suites get their time. */
export function allSuites(): readonly Suite[] {
  const onNode = () => missing({ node: true })
  return [
    exploring(
      'fuzz',
      4,
      files('test/fuzz/*.test.ts', 'test/decisions/*.test.ts', 'src/**/*.test.ts').filter(
        drawsCases,
      ),
    ),
    exploring('truth', 4, files('test/truth/*.test.ts').filter(drawsCases)),
    {
      ...exploring('oracle', 2, files('test/oracle/*.test.ts').filter(drawsCases)),
      missing: () => without('go'),
    },
    whole('thresholds', 350, {
      ...node(...RUNNER, 'test/thresholds/*.test.ts'),
      env: { THRESHOLDS_MIXED: '1' },
    }),
    whole('conformance', 100, node('test/conformance/run.ts')),
    {
      ...whole('cluster', 1000, {
        ...node(...RUNNER, 'test/cluster/*.test.ts'),
        env: { AWAY_SECONDS: '60' },
      }),
      missing: onNode,
    },
    { ...whole('release', 300, node(...RUNNER, 'test/release/*.test.ts')), times: 2 },
    { ...whole('soak', 650, node('test/soak/soak.ts')), missing: () => without('openssl') },
    whole('quiet', 620, {
      ...node('test/soak/quiet.ts'),
      env: { QUIET_SECONDS: '600', QUIET_GATEWAYS: '20' },
    }),
    {
      ...whole('gateway-api', 1500, node('test/gateway-conformance/run.ts')),
      missing: onNode,
    },
    whole('kills', 900, {
      ...node(...RUNNER, 'test/storage/kill.test.ts'),
      env: { KILLS: '300' },
    }),
    whole('platforms', 900, node('test/release/whole.ts')),
  ]
}
