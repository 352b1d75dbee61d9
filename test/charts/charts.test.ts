import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import own from '../../package.json' with { type: 'json' }
import {
  type Chart,
  chartFolder,
  options,
  readObjects,
  renderText,
  runHelm,
  type Values,
} from './helm.ts'
import { at } from './values.ts'

const CHARTS: readonly Chart[] = ['portcullis', 'portcullis-standalone', 'portcullis-crds']
const RENDERINGS = join(import.meta.dirname, 'renderings')
const read = (chart: Chart, file: string) => readFileSync(join(chartFolder(chart), file), 'utf8')

describe('every chart', options, () => {
  for (const chart of CHARTS) {
    it(`${chart} passes helm lint --strict`, () => {
      const { status, stdout, stderr } = runHelm(['lint', '--strict', chartFolder(chart)])
      assert.equal(status, 0, `${stdout}${stderr}`)
    })

    it(`${chart} has the version of the product`, () => {
      const { version, appVersion } = parse(read(chart, 'Chart.yaml'))
      assert.deepEqual([version, appVersion], [own.version, own.version])
    })
  }

  it('accepts `global`, as dependent charts do', () => {
    for (const chart of CHARTS) renderText(chart, { global: { registry: 'x' } })
  })

  it('both render Services from the same templates', () => {
    for (const file of ['templates/_service.tpl', 'templates/_scalars.tpl']) {
      assert.equal(read('portcullis', file), read('portcullis-standalone', file))
    }
  })
})

describe('READMEs of charts', options, () => {
  for (const chart of ['portcullis', 'portcullis-standalone'] as const) {
    const blocks = read(chart, 'README.md').matchAll(/^```yaml\n(.*?)^```/gms)
    for (const [index, [, text = '']] of [...blocks].entries()) {
      it(`${chart}: example ${index + 1} is rendered`, () => {
        renderText(chart, parse(text))
      })
    }
  }
})

describe('NOTES.txt', options, () => {
  for (const [chart, values, commands] of [
    ['portcullis-standalone', {}, ['rollout status', 'get service edge', 'curl']],
    [
      'portcullis-standalone',
      { gateway: { service: { type: 'ClusterIP' } } },
      ['rollout status', 'port-forward service/edge', 'curl'],
    ],
    [
      'portcullis-standalone',
      { gateway: { service: { enabled: false } } },
      ['rollout status', 'port-forward deployment/edge', 'curl'],
    ],
    ['portcullis', {}, ['rollout status', 'gatewayclass/portcullis', 'apply -f -']],
    [
      'portcullis',
      { gatewayClassName: 'mine', rbac: { gatewayNamespaces: ['a'] } },
      ['rollout status', 'gatewayclass/mine', '-n a apply -f -'],
    ],
  ] as const) {
    it(`${chart} ${JSON.stringify(values)}: the next three commands`, () => {
      const args = [
        'install',
        'edge',
        chartFolder(chart),
        '--dry-run=client',
        '--namespace',
        'shop',
      ]
      const { status, stdout, stderr } = runHelm([...args, '--values', '-'], JSON.stringify(values))
      assert.equal(status, 0, stderr)
      const notes = stdout.slice(stdout.indexOf('NOTES:'))
      const steps = notes.split(/^(?=[123]\. )/m).slice(1)
      assert.equal(steps.length, 3)
      for (const [index, command] of commands.entries())
        assert.ok(steps[index]?.includes(command), notes)
    })
  }
})

describe('NOTES.txt about settings without effect', options, () => {
  const notesOf = (chart: Chart, values: Values) => {
    const args = ['install', 'edge', chartFolder(chart), '--dry-run=client', '--values', '-']
    const { status, stdout, stderr } = runHelm(args, JSON.stringify(values))
    assert.equal(status, 0, stderr)
    return stdout.slice(stdout.indexOf('NOTES:'))
  }
  const url = 'postgres://a:b@c:5432/d'

  it('does not warn about working values', () =>
    assert.doesNotMatch(
      notesOf('portcullis-standalone', {}),
      /NOT IMPLEMENTED|These values have no effect/,
    ))

  it('does not warn about a session key', () => {
    const notes = notesOf('portcullis-standalone', { session: { secretName: 'a' } })
    assert.doesNotMatch(notes, /NOT IMPLEMENTED|These values have no effect/)
  })

  it('does not warn about database mode', () => {
    const values = { mode: 'database', database: { postgres: { url } } }
    assert.doesNotMatch(
      notesOf('portcullis-standalone', values),
      /NOT IMPLEMENTED|These values have no effect/,
    )
  })

  for (const [values, line] of [
    [{ config: { ui: {} } }, '`config.ui`'],
    [{ config: { config: { standardAttributes: {} } } }, '`config.config.standardAttributes`'],
    [{ database: { postgres: { url } } }, '`database.postgres.url`'],
    [{ oidc: { cookieSecretName: 'a' } }, '`oidc.cookieSecretName`'],
    [{ oidc: { enabled: true, cookieSecretName: 'a' } }, '`oidc.enabled`'],
  ] as const) {
    it(`${JSON.stringify(values)}: says that it has no effect`, () => {
      const notes = notesOf('portcullis-standalone', values)
      assert.ok(
        notes.slice(notes.indexOf('These values have no effect:')).includes(`  - ${line}: `),
        notes,
      )
    })
  }

  it('portcullis: names the image it needs and the values without effect', () => {
    const notes = notesOf('portcullis', {})
    assert.match(notes, /No image is published yet: \S+\/controller:\S+ must be on/)
    assert.doesNotMatch(notes, /NOT SUPPORTED YET/)
    const values = { istio: { autoEnabled: true }, inferenceExtension: { enabled: true } }
    assert.match(notesOf('portcullis', values), /NOT SUPPORTED YET: istio\.autoEnabled\./)
  })
})

describe('helm test', options, () => {
  const testsOf = (chart: Chart, values: Values) =>
    readObjects(renderText(chart, values)).filter(
      ({ kind, metadata }) => metadata.annotations?.['helm.sh/hook'] === 'test' && kind === 'Pod',
    )

  for (const chart of ['portcullis-standalone', 'portcullis'] as const) {
    it(`${chart}: a pod asks the service, and nothing selects that pod`, () => {
      const [pod, ...others] = testsOf(chart, {})
      assert.deepEqual(others, [])
      assert.equal(pod?.metadata.labels?.['app.kubernetes.io/component'], 'test')
      assert.equal(at(pod, 'spec.containers[0].securityContext.runAsNonRoot'), true)
    })
  }

  it('portcullis: without the service there is no endpoint to test', () => {
    const off = { controller: { service: { enabled: false } } }
    assert.deepEqual(testsOf('portcullis', off), [])
  })
})

/** `UPDATE_RENDERINGS=1` writes the renderings that differ. */
describe('renderings', options, () => {
  for (const file of readdirSync(RENDERINGS).filter((name) => name.endsWith('.values.yaml'))) {
    const name = file.replace('.values.yaml', '')
    const chart = CHARTS.toSorted((one, other) => other.length - one.length).find((one) =>
      name.startsWith(one),
    )

    it(name, () => {
      assert.ok(chart !== undefined, 'the name begins with that of a chart')
      const values = parse(readFileSync(join(RENDERINGS, file), 'utf8')) ?? {}
      const text = renderText(chart, values)
      const path = join(RENDERINGS, `${name}.yaml`)
      const known = existsSync(path) ? readFileSync(path, 'utf8') : ''
      if (process.env['UPDATE_RENDERINGS'] === '1' && known !== text) writeFileSync(path, text)
      else assert.equal(text, known, 'run UPDATE_RENDERINGS=1 and look at the difference')
    })
  }
})
