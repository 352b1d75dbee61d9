import { join } from 'node:path'
import type { Suite } from './suite.ts'

export interface Draw {
  /** For everything that is drawn at random. */
  readonly seed: number
  /** The commit since which changes are judged. */
  readonly base: string
}

/** All suites of a landing. Seconds and cores are what two cores with other work took. */
export function suitesOf({ seed, base }: Draw): readonly Suite[] {
  const program = startingPrograms(PROGRAMS)
  const draws = { FUZZ_SEED: String(seed), FUZZ_RUNS: '200' }
  return [
    step('check', 70, 1, 'npm', 'run', 'check'),
    // Some hundred draws of each fuzz, and everything in test/corpus; nights explore.
    {
      ...tests('unit', 300, 1.3, 'npm', 'test', '--', '--retry'),
      environment: draws,
    },
    // The tasks that ARCHITECTURE.md describes, done in a copy of the tree.
    files('tasks', 80, 1, 'test/architecture/tasks/*.test.ts'),
    // Properties with every switch of size at 0, 1 and infinity.
    { ...files('thresholds', 250, 0.8, 'test/thresholds/*.test.ts'), nice: true },
    // The programs as a release has them start in a third of the time that the sources take.
    preparation('programs', 20, 1, 'node', 'tools/test/build-programs.ts', PROGRAMS),
    program({ ...files('truth', 90, 1, 'test/truth/*.test.ts'), environment: draws, nice: true }),
    { ...files('oracle', 60, 0.8, 'test/oracle/*.test.ts'), nice: true },
    program({
      ...tests('soak', 65, 0.7, 'node', 'test/soak/soak.ts'),
      environment: { SOAK_SECONDS: '60' },
    }),
    // Traffic that comes and goes.
    program(tests('quiet', 45, 0.2, 'node', 'test/soak/quiet.ts')),
    // Whole connections, and the gateway as a process.
    program({
      ...files('sockets', 370, 0.7, 'test/{proxy,scenarios}/*.test.ts'),
      after: ['peer-tools'],
    }),
    program(files('processes', 200, 0.8, 'test/{cli,delivery}/*.test.ts')),
    // What others wrote, as clients and servers: it is installed first.
    preparation('peer-tools', 80, 0.7, 'test/peers/install.sh'),
    { ...files('peers', 130, 0.7, 'test/{peers,browser}/*.test.ts'), after: ['peer-tools'] },
    program(files('decisions', 30, 0.9, 'test/{decisions,policies-under-load}/*.test.ts')),
    // A real PostgreSQL, replicas that share it, kills during writes, and sign-in by a real provider.
    program(files('storage', 230, 0.7, 'test/{storage,oidc}/*.test.ts')),
    // The Admin UI and the documentation site in a real browser.
    program(files('ui', 550, 1.2, 'test/{ui,site}/*.test.ts', 2)),
    // Backends, names, clients, workers and descriptors that fail.
    program(files('faults', 420, 0.5, 'test/faults/*.test.ts')),
    files('h2spec', 65, 0.3, 'test/h2spec/*.test.ts'),
    preparation('helm', 60, 1, 'test/cluster/prepare.sh', 'helm'),
    { ...files('charts', 70, 0.9, 'test/charts/*.test.ts'), after: ['helm'] },
    // What is published for this platform, made twice, installed and used without the repository.
    { ...files('release', 430, 0.6, 'test/release/*.test.ts'), after: ['helm'] },
    // A real API server, nodes and the controller; then a slice of the Gateway API's own suite.
    preparation(
      'cluster-tools',
      900,
      1.5,
      'sh',
      '-c',
      'test/cluster/prepare.sh && test/cluster/prepare.sh conformance',
    ),
    program({
      ...files('cluster', 880, 1.2, 'test/cluster/*.test.ts'),
      after: ['cluster-tools', 'helm'],
      exclusive: 'node',
    }),
    {
      ...tests('gateway-api', 150, 0.7, 'node', 'test/gateway-conformance/run.ts', '--slice'),
      after: ['cluster-tools', 'helm'],
      exclusive: 'node',
    },
    // Mutants in the lines of the change that no test notices.
    step('mutate', 60, 1.2, 'node', 'tools/mutate/run.ts', `--changed=${base}`),
  ]
}

const PROGRAMS = join('.cache', 'programs')

/** For suites that start the programs: they wait until these are built. */
function startingPrograms(folder: string) {
  return (suite: Suite): Suite => ({
    ...suite,
    after: [...(suite.after ?? []), 'programs'],
    environment: { ...suite.environment, TEST_PROGRAMS: join(process.cwd(), folder) },
  })
}

function tests(name: string, seconds: number, cores: number, ...command: string[]): Suite {
  return { name, kind: 'tests', command, seconds, cores }
}

function step(name: string, seconds: number, cores: number, ...command: string[]): Suite {
  return { name, kind: 'step', command, seconds, cores }
}

function preparation(name: string, seconds: number, cores: number, ...command: string[]): Suite {
  return { name, kind: 'preparation', command, seconds, cores }
}

/** Test files in few processes, with V8's optimizing compiler. */
function files(
  name: string,
  seconds: number,
  cores: number,
  pattern: string,
  processes = 1,
): Suite {
  const shares = [`--processes=${processes}`, `--batches=${processes}`]
  const runner = ['node', 'tools/test/run.ts', '--optimize', ...shares]
  return tests(name, seconds, cores, ...runner, '--retry', pattern)
}
