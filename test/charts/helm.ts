import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')

export type Chart = 'portcullis' | 'portcullis-standalone' | 'portcullis-crds'
export type Values = Readonly<Record<string, unknown>>

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

export interface Release {
  readonly name?: string
  readonly namespace?: string
}

/** The path of helm, or the reason why it is missing: it is built once, which needs Go. */
export function findHelm(): { readonly helm: string } | { readonly missing: string } {
  const { error, status, stderr } = spawnSync(join(ROOT, 'test/cluster/prepare.sh'), ['helm'], {
    encoding: 'utf8',
  })
  if (error !== undefined) return { missing: error.message }
  if (status === 0) return { helm: join(ROOT, '.cache/cluster/bin/helm') }
  if (/\bgo: .*not found/.test(stderr))
    return { missing: 'helm is built with Go, which is not here' }
  throw new Error(`helm could not be built: ${stderr}`)
}

const found = findHelm()

/** The option of `describe` and `it` that skips a suite, with the reason. */
export const options = 'missing' in found ? { skip: found.missing } : {}

export function chartFolder(chart: Chart): string {
  return join(ROOT, 'charts', chart)
}

export function runHelm(args: readonly string[], input = '') {
  assert.ok('helm' in found)
  const { status, stdout, stderr } = spawnSync(found.helm, args, { encoding: 'utf8', input })
  return { status, stdout, stderr }
}

export function renderText(chart: Chart, values: Values, release: Release = {}): string {
  const { status, stdout, stderr } = template(chart, values, release)
  assert.equal(status, 0, stderr)
  return stdout
}

/** The objects that an installation would create, except tests of the release. */
export function render(
  chart: Chart,
  values: Values = {},
  release: Release = {},
): readonly KubernetesObject[] {
  return readObjects(renderText(chart, values, release)).filter(({ metadata }) => {
    return metadata.annotations?.['helm.sh/hook'] === undefined
  })
}

export function tryRender(chart: Chart, values: Values) {
  return template(chart, values, {})
}

/** The error that helm prints instead of rendering. */
export function rejection(chart: Chart, values: Values): string {
  const { status, stderr } = template(chart, values, {})
  assert.notEqual(status, 0, 'it should not have been rendered')
  return stderr
}

/** Rejects duplicate keys, as the API server does. */
export function readObjects(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text, { uniqueKeys: true }).flatMap((document) => {
    assert.deepEqual(document.errors, [])
    const value = document.toJS() as KubernetesObject | null
    return value === null ? [] : [value]
  })
}

/** Rendered once for all tests. */
const RENDERED = new Map<string, ReturnType<typeof runHelm>>()

function template(chart: Chart, values: Values, { name = 'edge', namespace = 'shop' }: Release) {
  const args = ['template', name, chartFolder(chart), '--namespace', namespace, '--values', '-']
  const input = JSON.stringify(values)
  const key = [...args, input].join(' ')
  const rendered = RENDERED.get(key) ?? runHelm(args, input)
  RENDERED.set(key, rendered)
  return rendered
}
