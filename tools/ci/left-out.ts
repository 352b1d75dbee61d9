import type { History } from './changes.ts'
import type { Machine } from './machine.ts'

/** Suites that do not run under some condition. */
interface LeftOutSuites {
  readonly suites: readonly string[]
  /** The reason why they are left out; undefined if they must run. */
  readonly reason: (facts: Facts) => string | undefined
}

export interface Facts {
  readonly machine: Machine
  readonly history: History
}

/** Everything that a run leaves out. What is not in this list and did not run has failed. */
const LEFT_OUT: readonly LeftOutSuites[] = [
  {
    suites: ['oracle', 'h2spec', 'helm', 'charts', 'cluster-tools', 'cluster', 'gateway-api'],
    reason: ({ machine }) => (machine.has('go') ? undefined : 'Go is not installed'),
  },
  {
    suites: ['soak', 'h2spec', 'cluster-tools', 'cluster', 'gateway-api'],
    reason: ({ machine }) => (machine.has('openssl') ? undefined : 'openssl is not installed'),
  },
  {
    suites: ['ui', 'release', 'cluster-tools', 'cluster', 'gateway-api'],
    reason: ({ machine }) => (machine.isLinuxX64 ? undefined : 'it needs Linux on x64'),
  },
  {
    suites: ['release', 'cluster-tools', 'cluster', 'gateway-api'],
    reason: ({ machine }) => (machine.isRoot ? undefined : 'it makes namespaces, as root'),
  },
  {
    suites: ['cluster-tools', 'cluster', 'gateway-api'],
    reason: ({ history }) => history.unchangedSince('cluster', CLUSTER_PATHS),
  },
]

/** What the cluster suites are about: with a change in any of it, they run. */
const CLUSTER_PATHS = [
  'charts',
  'src/controller',
  'src/sources/kubernetes',
  'src/sources/xds',
  'src/xds',
  'src/cli/controller',
  'test/cluster',
  'test/gateway-conformance',
  'tools/charts',
  'tools/crds',
  'tools/image',
]

/** Tests that may be skipped within a suite, by the reason that they print. */
interface AllowedSkip {
  readonly suite: string
  readonly reason: RegExp
  readonly when: (machine: Machine) => boolean
}

const ALLOWED_SKIPS: readonly AllowedSkip[] = [
  // Needs checkouts of another project, which are not on a machine by themselves.
  {
    suite: 'peers',
    reason: /\(AGENTGATEWAY_FILES names no folder\)$/,
    when: () => true,
  },
  { suite: 'sockets', reason: /\(there is no IPv6 here\)$/, when: ({ hasIpv6 }) => !hasIpv6 },
  ...['peers', 'sockets', 'processes', 'faults', 'unit', 'fuzz', 'storage', 'ui', 'decisions'].map(
    (suite) => ({
      suite,
      reason: /\(openssl, which makes the certificates, is not installed\)$/,
      when: ({ has }: Machine) => !has('openssl'),
    }),
  ),
  ...['peers', 'sockets', 'processes', 'storage', 'ui', 'release'].map((suite) => ({
    suite,
    reason: /Linux|\/proc|PostgreSQL for this platform|needs the right to mount|only root/,
    when: ({ isLinuxX64, isRoot }: Machine) => !isLinuxX64 || !isRoot,
  })),
  ...['peers', 'sockets'].map((suite) => ({
    suite,
    reason: /is not in \.cache\//,
    when: ({ has }: Machine) => !has('python3'),
  })),
]

export function suitesThatMayBeLeftOut(): readonly string[] {
  return [...new Set(LEFT_OUT.flatMap(({ suites }) => suites))]
}

/** The reason why a suite is left out; undefined if it must run. */
export function whyLeftOut(suite: string, facts: Facts): string | undefined {
  for (const { suites, reason } of LEFT_OUT) {
    const text = suites.includes(suite) ? reason(facts) : undefined
    if (text !== undefined) return text
  }
  return undefined
}

/** Whether a line `skipped: TEST (REASON)` of a suite is in the list. */
export function isAllowedSkip(suite: string, line: string, machine: Machine): boolean {
  return ALLOWED_SKIPS.some(
    (allowed) => allowed.suite === suite && allowed.reason.test(line) && allowed.when(machine),
  )
}
