// The Gateway API's own conformance suite against the control plane, on a real node; needs root.
//
//   node test/gateway-conformance/run.ts                 everything; writes the report
//   node test/gateway-conformance/run.ts --slice         what CI runs; no report
//   node test/gateway-conformance/run.ts --tests=A,B     these tests; no report
//
// With --keep the cluster stays for inspection; NODE=1 test/cluster/down.sh removes it.

import { spawn, spawnSync } from 'node:child_process'
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chartFolder } from '../charts/helm.ts'
import { gatewayApiDefinitions } from '../cluster/gateway-api.ts'
import { type Cluster, missing, startCluster } from '../cluster/harness.ts'
import { NOT_CLAIMED, PROFILES } from './features.ts'
import { suiteImages } from './images.ts'
import { SLICE } from './slice.ts'

const ROOT = join(import.meta.dirname, '../..')
const REPORT = join(ROOT, 'test/conformance/reports/gateway-api-v1.6.3.yaml')
const LOG = join(ROOT, '.cache/gateway-conformance.log')
const SYSTEM = 'portcullis-system'

/**
 * Timeouts of the suite for steps that wait for a pod to start; on a busy machine many pods do, and
 * the tests do not limit them. The 30 s limit for a response is part of a test and stays.
 */
const PATIENT = [
  'GatewayMustHaveAddress',
  'GatewayMustHaveCondition',
  'GatewayStatusMustHaveListeners',
  'GatewayListenersMustHaveConditions',
  'ListenerSetMustHaveCondition',
  'ListenerSetListenersMustHaveConditions',
  'LatestObservedGenerationSet',
  'NamespacesMustBeReady',
  'DefaultTestTimeout',
]

/** Names of tests; undefined: all of them. */
type Wanted = readonly string[] | undefined

async function run(wanted: Wanted): Promise<void> {
  const reason = missing({ node: true })
  if (reason !== undefined) {
    console.log(`skipped: ${reason}\n0 passed, 0 failed, 1 skipped`)
    return
  }
  call(join(ROOT, 'test/cluster/prepare.sh'), ['conformance'])
  call(process.execPath, [join(ROOT, 'tools/release.ts')])
  const dist = join(ROOT, 'dist')
  const own = readdirSync(dist).filter((name) => name.endsWith('-linux-amd64.tar'))
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-conformance-'))
  const images = [...own.map((name) => join(dist, name)), ...suiteImages(folder)]
  const cluster = await startCluster({ node: true, images }).finally(() =>
    rmSync(folder, { recursive: true }),
  )
  try {
    install(cluster)
    await runSuite(cluster, wanted)
  } finally {
    if (values.keep !== true) await cluster.close()
  }
  tell(readFileSync(LOG, 'utf8'), wanted)
}

function call(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`)
}

/** Installs as a user would, but with minimal resource requests: dozens of proxies run at once. */
function install(cluster: Cluster): void {
  const own = join(chartFolder('portcullis-crds'), 'templates')
  for (const file of [own, ...gatewayApiDefinitions('experimental')]) {
    cluster.kubectl(['apply', '--server-side', '-f', file])
  }
  cluster.createNamespace(SYSTEM)
  const small = {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyParameters',
    metadata: { name: 'small', namespace: SYSTEM },
    spec: { resources: { requests: { cpu: '30m', memory: '64Mi' } } },
  }
  cluster.kubectl(['apply', '-f', '-'], JSON.stringify(small))
  const chart = chartFolder('portcullis')
  const args = ['install', 'portcullis', chart, '--namespace', SYSTEM, '--wait']
  const parameters = { name: 'small', namespace: SYSTEM }
  cluster.helm([...args, '--timeout', '180s'], {
    gatewayClassParametersRefs: { portcullis: parameters },
  })
}

/** The suite writes its own log; a partial run makes no report. */
function runSuite(cluster: Cluster, wanted: Wanted): Promise<void> {
  const chosen = wanted === undefined ? '.*' : `^(${wanted.join('|')})$`
  const balancers = `10.98.${process.env['CLUSTER_NUMBER'] ?? '0'}`
  const report = {
    'report-output': REPORT,
    organization: 'portcullis-dev',
    project: 'portcullis',
    url: 'https://portcullis.dev',
    version: `v${ownVersion()}`,
    contact: 'https://portcullis.dev',
  }
  const flags = {
    'test.v': 'true',
    'test.timeout': '90m',
    'test.run': `TestConformance/${chosen}`,
    'gateway-class': 'portcullis',
    'conformance-profiles': PROFILES.join(','),
    'all-features': 'true',
    'exempt-features': Object.values(NOT_CLAIMED).flat().join(','),
    // The whole cluster is deleted.
    'cleanup-base-resources': 'false',
    'usable-address': `${balancers}.250`,
    'unusable-address': '192.0.2.1',
    'timeout-config-overrides': PATIENT.map((name) => `${name}:300`).join(';'),
    ...(wanted === undefined && report),
  }
  const args = Object.entries(flags).map(([name, value]) => `-${name}=${value}`)
  return new Promise((resolve, reject) => {
    const child = spawn(join(ROOT, '.cache/cluster/bin/conformance'), args, {
      env: { ...process.env, KUBECONFIG: cluster.kubeconfig },
    })
    const log = createWriteStream(LOG)
    child.stdout.pipe(log, { end: false })
    child.stderr.pipe(log, { end: false })
    child.once('error', reject)
    child.once('close', () => log.end(resolve))
  })
}

function ownVersion(): string {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
}

/** Unclaimed features do not count; a test that was to run and did not counts as failed. */
function tell(log: string, wanted: Wanted): void {
  const named = (result: string) =>
    [...log.matchAll(new RegExp(`^ {4}--- ${result}: TestConformance/(\\S+)`, 'gm'))].map(
      ([, name = '']) => name,
    )
  const [passed, failed, skipped] = [named('PASS'), named('FAIL'), named('SKIP')]
  const unclaimed = Object.values(NOT_CLAIMED).flat()
  const left = skipped.filter(
    (name) =>
      !unclaimed.some((one) => log.includes(`Skipping ${name}: suite does not support ${one}\n`)),
  )
  const lost = (wanted ?? []).filter((name) => ![...passed, ...failed, ...left].includes(name))
  if (failed.length + lost.length > 0 || passed.length === 0) {
    console.log(errorsIn(log))
    console.log(`failed: ${[...failed, ...lost].join(', ')}; all of it is in ${LOG}`)
    process.exitCode = 1
  }
  const counts = `${passed.length} passed, ${failed.length + lost.length} failed`
  console.log(left.length === 0 ? counts : `${counts}, ${left.length} skipped`)
}

function errorsIn(log: string): string {
  const lines = log.split('\n')
  const first = lines.flatMap((line, at) => (line.includes('Error Trace:') ? [at] : []))
  return first.map((at) => lines.slice(at, at + 12).join('\n')).join('\n\n')
}

const { values } = parseArgs({
  options: { tests: { type: 'string' }, slice: { type: 'boolean' }, keep: { type: 'boolean' } },
})
await run(values.slice ? SLICE : values.tests?.split(','))
